//! base 0.1.0
package 'das2'
  model 'das2' "Cameron's problem DAS 2: a tank with six scheduled changes, time in h"
    parameter Real 'tau' = 2.77e-4 "time constant of the valve, in h";
    parameter Real 'xi' = 0.8 "damping ratio of the valve";
    parameter Real 'A'(unit = "m2") = 12.566 "cross-section of the tank";
    parameter Real 'rho'(unit = "kg m-3") = 1000.0 "density of the liquid";
    parameter Real 'V0'(unit = "m3") = 201.0619 "volume of the tank";
    parameter Real 'R'(unit = "J kmol-1 K-1") = 8314.0 "gas constant";
    parameter Real 'C'(unit = "J kmol-1 K-1") = 30354.0 "heat capacity of the gas";
    parameter Real 'm_G'(unit = "kmol") = 8.397060346670943255 "amount of gas";
    parameter Real 'C_v' = 3.4153 "flow coefficient, in m3 h-1 kPa-0.5";
    parameter Real 'g'(unit = "m s-2") = 9.81 "gravity";
    parameter Real 'P1'(unit = "kPa") = 400.0 "supply pressure";
    parameter Real 'P1_raised'(unit = "kPa") = 500.0 "supply pressure between its changes";
    parameter Real 'P3'(unit = "kPa") = 100.0 "back pressure";
    parameter Real 'P3_raised'(unit = "kPa") = 110.0 "back pressure between its changes";
    parameter Real 't1' = 1.0 "signal to 0.7, in h";
    parameter Real 't2' = 1.5 "signal to 0.6, in h";
    parameter Real 't3' = 2.0 "supply pressure up, in h";
    parameter Real 't4' = 2.5 "back pressure up, in h";
    parameter Real 't5' = 3.0 "signal back to 0.7, in h";
    parameter Real 't6' = 3.5 "both pressures down, in h";
    Real 'y'(start = 0.0, fixed = true), 's'(start = 1.0, fixed = true), 'z'(start = 0.0, fixed = true), 'T_G'(start = 288.0, fixed = true);
    Real 'A_v', 'F1', 'F2', 'P_G', 'P2', 'V_G', 'signal', 'supply', 'back';
  equation
    'signal' = if time < 't1' then 1.0 elseif time < 't2' then 0.7 elseif time < 't5' then 0.6 else 0.7;
    'supply' = if time >= 't3' and time < 't6' then 'P1_raised' else 'P1';
    'back' = if time >= 't4' and time < 't6' then 'P3_raised' else 'P3';
    der('y') = ('signal' - 's') / 'tau' ^ 2 - 2.0 * 'xi' * 'y' / 'tau';
    der('s') = 'y';
    'A' * der('z') = 'F1' - 'F2';
    'm_G' * 'C' * der('T_G') = 1000.0 * 'P_G' * ('F1' - 'F2');
    'A_v' = 0.03 * exp('s' / 0.28518);
    'F1' = 'A_v' * 'C_v' * sqrt(max('supply' - 'P2', 1e-10));
    'F2' = 'C_v' * sqrt(max('P2' - 'back', 1e-10));
    'P_G' = 'm_G' * 'R' * 'T_G' / (1000.0 * 'V_G');
    'P2' = 'P_G' + 'rho' * 'g' * 'z' / 1000.0;
    'V_G' = 'V0' - 'A' * 'z';
    annotation(experiment(StartTime = 0.0, StopTime = 10.0));
  end 'das2';
end 'das2';
