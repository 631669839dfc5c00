//! base 0.1.0
package 'rlc_index2'
  model 'rlc_index2' "circuit with a capacitor across the source: index 2"
    parameter Real 'R1'(unit = "ohm") = 100.0;
    parameter Real 'R2'(unit = "ohm") = 20.0;
    parameter Real 'L'(unit = "H") = 1.5e-3;
    parameter Real 'C'(unit = "F") = 1e-6;
    parameter Real 'amplitude'(unit = "V") = 10.0 "of the source";
    parameter Real 'frequency'(unit = "s-1") = 1000.0 "of the source";
    Real 'u0'(unit = "V") "source voltage";
    Real 'u1'(unit = "V"), 'u2'(unit = "V"), 'uL'(unit = "V");
    Real 'i0'(unit = "A"), 'i1'(unit = "A"), 'i2'(unit = "A");
    Real 'uC'(unit = "V"), 'iL'(unit = "A", start = 0.0, fixed = true), 'iC'(unit = "A");
  equation
    'u0' = 'amplitude' * sin(6.283185307179586 * 'frequency' * time);
    'u1' = 'R1' * 'i1';
    'u2' = 'R2' * 'i2';
    'uL' = 'L' * der('iL');
    'iC' = 'C' * der('uC');
    'u0' = 'u1' + 'uL';
    'uC' = 'u1' + 'u2';
    'uL' = 'u2';
    'i0' = 'i1' + 'iC';
    'i1' = 'i2' + 'iL';
    annotation(experiment(StartTime = 0.0, StopTime = 0.002));
  end 'rlc_index2';
end 'rlc_index2';
