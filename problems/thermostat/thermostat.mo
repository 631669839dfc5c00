//! base 0.1.0
package 'thermostat'
  model 'thermostat' "A heated room whose thermostat has a hysteresis, time in min"
    parameter Real 'outside'(unit = "degC") = 5.0 "temperature outside";
    parameter Real 'tau' = 30.0 "time constant of the room, in min";
    parameter Real 'heating' = 1.0 "heating rate, in K min-1";
    parameter Real 'lower'(unit = "degC") = 19.0 "the heater starts below";
    parameter Real 'upper'(unit = "degC") = 21.0 "the heater stops above";
    Real 'T'(unit = "degC", start = 15.0, fixed = true);
    Boolean 'on'(start = true, fixed = true);
  equation
    der('T') = ('outside' - 'T') / 'tau' + (if 'on' then 'heating' else 0.0);
    when 'T' > 'upper' then
      'on' = false;
    elsewhen 'T' < 'lower' then
      'on' = true;
    end when;
    annotation(experiment(StartTime = 0.0, StopTime = 100.0));
  end 'thermostat';
end 'thermostat';
