model charger "a capacitor is charged through a diode"
  parameter Real R(unit = "ohm") = 10, C(unit = "F") = 1e-3, amplitude(unit = "V") = 10;
  parameter Real Is(unit = "A") = 1e-9, UT(unit = "V") = 0.026;
  Real u(start = 0, fixed = true, unit = "V") "voltage of the capacitor";
  Real i(unit = "A"), ud(unit = "V") "voltage of the diode", source(unit = "V");
equation
  source = amplitude * sin(314.159 * time);
  source = R * i + ud + u;
  i = Is * (exp(ud / UT) - 1);
  C * der(u) = i;
  annotation(experiment(StopTime = 0.04));
end charger;
