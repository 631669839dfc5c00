//! base 0.1.0
package 'rlc_index1'
  model 'rlc_index1' "circuit with an algebraic loop"
    parameter Real 'R1'(unit = "ohm") = 100.0;
    parameter Real 'R2'(unit = "ohm") = 20.0;
    parameter Real 'R3'(unit = "ohm") = 50.0;
    parameter Real 'L'(unit = "H") = 1.5e-3;
    parameter Real 'amplitude'(unit = "V") = 10.0 "of the source";
    parameter Real 'frequency'(unit = "s-1") = 1000.0 "of the source";
    Real 'u0'(unit = "V") "source voltage";
    Real 'u1'(unit = "V"), 'u2'(unit = "V"), 'uL'(unit = "V");
    Real 'i0'(unit = "A"), 'i1'(unit = "A"), 'i2'(unit = "A");
    Real 'u3'(unit = "V"), 'i3'(unit = "A"), 'iL'(unit = "A", start = 0.0, fixed = true);
  equation
    'u0' = 'amplitude' * sin(6.283185307179586 * 'frequency' * time);
    'u1' = 'R1' * 'i1';
    'u2' = 'R2' * 'i2';
    'u3' = 'R3' * 'i3';
    'uL' = 'L' * der('iL');
    'u0' = 'u1' + 'u3';
    'uL' = 'u1' + 'u2';
    'u3' = 'u2';
    'i0' = 'i1' + 'iL';
    'i1' = 'i2' + 'i3';
    annotation(experiment(StartTime = 0.0, StopTime = 0.002));
  end 'rlc_index1';
end 'rlc_index1';
