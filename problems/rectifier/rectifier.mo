//! base 0.1.0
package 'rectifier'
  model 'rectifier' "A bridge rectifier with ideal diodes"
    parameter Real 'amplitude'(unit = "V") = 10.0 "of the source";
    parameter Real 'frequency'(unit = "s-1") = 50.0 "of the source";
    parameter Real 'R_S'(unit = "ohm") = 1.0 "resistance of the source";
    parameter Real 'C'(unit = "F") = 1e-3 "capacitance";
    parameter Real 'R'(unit = "ohm") = 100.0 "load";
    Real 'v_C'(unit = "V", start = 1.0, fixed = true), 'i'(unit = "A"), 'v_B'(unit = "V"), 'source'(unit = "V");
  equation
    'source' = 'amplitude' * sin(6.283185307179586 * 'frequency' * time);
    'i' = if 'source' > 'v_C' then ('source' - 'v_C') / 'R_S' elseif (-'source') > 'v_C' then ('source' + 'v_C') / 'R_S' else 0.0;
    'v_B' = 'source' - 'R_S' * 'i';
    'C' * der('v_C') = abs('i') - 'v_C' / 'R';
    annotation(experiment(StartTime = 0.0, StopTime = 0.1));
  end 'rectifier';
end 'rectifier';
