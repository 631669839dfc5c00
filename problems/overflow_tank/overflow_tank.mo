//! base 0.1.0
package 'overflow_tank'
  model 'overflow_tank' "A tank with an outlet that fills until it overflows"
    parameter Real 'inflow'(unit = "m3 s-1") = 0.05 "flow into the tank";
    parameter Real 'area'(unit = "m2") = 1.0 "cross-section of the tank";
    parameter Real 'k'(unit = "m2.5 s-1") = 0.02 "outflow over the root of the level";
    parameter Real 'height'(unit = "m") = 2.0 "height of the tank";
    Real 'level'(unit = "m", start = 0.25, fixed = true);
  equation
    'area' * der('level') = 'inflow' - 'k' * sqrt('level');
    when 'level' > 'height' then
      terminate("overflow");
    end when;
    annotation(experiment(StartTime = 0.0, StopTime = 200.0));
  end 'overflow_tank';
end 'overflow_tank';
