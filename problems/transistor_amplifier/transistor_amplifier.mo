//! base 0.1.0
package 'transistor_amplifier'
  model 'transistor_amplifier' "two-transistor amplifier"
    parameter Real 'Ub'(unit = "V") = 6.0 "operating voltage";
    parameter Real 'UF'(unit = "V") = 0.026 "thermal voltage";
    parameter Real 'alpha' = 0.99 "current gain of the transistors";
    parameter Real 'beta'(unit = "A") = 1e-6 "saturation current";
    parameter Real 'amplitude'(unit = "V") = 0.1 "amplitude of the input";
    parameter Real 'frequency'(unit = "s-1") = 100.0 "frequency of the input";
    parameter Real 'R0'(unit = "ohm") = 1000.0 "input resistance";
    parameter Real 'R1'(unit = "ohm") = 9000.0;
    parameter Real 'R2'(unit = "ohm") = 9000.0;
    parameter Real 'R3'(unit = "ohm") = 9000.0;
    parameter Real 'R4'(unit = "ohm") = 9000.0;
    parameter Real 'R5'(unit = "ohm") = 9000.0;
    parameter Real 'R6'(unit = "ohm") = 9000.0;
    parameter Real 'R7'(unit = "ohm") = 9000.0;
    parameter Real 'R8'(unit = "ohm") = 9000.0;
    parameter Real 'R9'(unit = "ohm") = 9000.0;
    parameter Real 'C1'(unit = "F") = 1e-6;
    parameter Real 'C2'(unit = "F") = 2e-6;
    parameter Real 'C3'(unit = "F") = 3e-6;
    parameter Real 'C4'(unit = "F") = 4e-6;
    parameter Real 'C5'(unit = "F") = 5e-6;
    Real 'u1', 'u2', 'u3'(start = 'Ub' * 'R1' / ('R1' + 'R2'), fixed = true), 'u4', 'u5', 'u6'(start = 'Ub' * 'R5' / ('R5' + 'R6'), fixed = true), 'u7', 'u8';
    Real 'uC1'(start = (-'Ub') * 'R1' / ('R1' + 'R2'), fixed = true), 'uC3'(start = 'Ub' - 'Ub' * 'R5' / ('R5' + 'R6'), fixed = true), 'uC5'(start = 'Ub', fixed = true);
    Real 'iC1', 'iC3', 'iC5', 'first' "current of the first diode", 'second' "of the second";
  equation
    'uC1' = 'u1' - 'u2';
    'uC3' = 'u4' - 'u5';
    'uC5' = 'u7' - 'u8';
    'iC1' = 'C1' * der('uC1');
    'iC3' = 'C3' * der('uC3');
    'iC5' = 'C5' * der('uC5');
    'first' = 'beta' * (exp(('u2' - 'u3') / 'UF') - 1.0);
    'second' = 'beta' * (exp(('u5' - 'u6') / 'UF') - 1.0);
    -'iC1' = ('u1' - 'amplitude' * sin(6.283185307179586 * 'frequency' * time)) / 'R0';
    'iC1' = 'u2' / 'R1' + ('u2' - 'Ub') / 'R2' + (1.0 - 'alpha') * 'first';
    -'C2' * der('u3') = 'u3' / 'R3' - 'first';
    -'iC3' = ('u4' - 'Ub') / 'R4' + 'alpha' * 'first';
    'iC3' = 'u5' / 'R5' + ('u5' - 'Ub') / 'R6' + (1.0 - 'alpha') * 'second';
    -'C4' * der('u6') = 'u6' / 'R7' - 'second';
    -'iC5' = ('u7' - 'Ub') / 'R8' + 'alpha' * 'second';
    'iC5' = 'u8' / 'R9';
    annotation(experiment(StartTime = 0.0, StopTime = 0.2));
  end 'transistor_amplifier';
end 'transistor_amplifier';
