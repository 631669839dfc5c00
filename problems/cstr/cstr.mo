//! base 0.1.0
package 'cstr'
  model 'cstr' "stirred-tank reactor with a reaction in equilibrium: index 2"
    parameter Real 'Fa'(unit = "m3 s-1") = 1.0 "flow in";
    parameter Real 'F'(unit = "m3 s-1") = 0.9 "flow out";
    parameter Real 'CA0'(unit = "mol m-3") = 2.0 "concentration of A in the flow in";
    parameter Real 'Keq' = 0.5 "constant of equilibrium CB/CA";
    parameter Real 'k2'(unit = "s-1") = 1.0 "rate constant of B -> C";
    parameter Real 'V0'(unit = "m3") = 5.0 "initial volume";
    parameter Real 'CA_start'(unit = "mol m-3") = 1.0 "initial concentration of A";
    Real 'V'(start = 'V0', fixed = true), 'CA'(start = 'CA_start', fixed = true), 'CB', 'CC'(start = 0.0, fixed = true), 'R1', 'R2';
  equation
    der('V') = 'Fa' - 'F';
    der('CA') = 'Fa' / 'V' * ('CA0' - 'CA') - 'R1';
    der('CB') = (-'Fa') / 'V' * 'CB' + 'R1' - 'R2';
    der('CC') = (-'Fa') / 'V' * 'CC' + 'R2';
    0.0 = 'CA' - 'CB' / 'Keq';
    0.0 = 'R2' - 'k2' * 'CB';
    annotation(experiment(StartTime = 0.0, StopTime = 20.0));
  end 'cstr';
end 'cstr';
