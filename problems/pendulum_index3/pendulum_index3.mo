//! base 0.1.0
package 'pendulum_index3'
  model 'pendulum_index3' "pendulum in Cartesian coordinates, constraint on the position"
    parameter Real 'g'(unit = "m s-2") = 13.7503716360407456549801915596 "gravity";
    parameter Real 'L'(unit = "m") = 1.0 "length of the rod";
    parameter Real 'angle'(unit = "rad") = 1.57079632679489662 "initial angle from the vertical";
    Real 'x'(unit = "m", start = 'L' * sin('angle')), 'z'(unit = "m", start = (-'L') * cos('angle'));
    Real 'u'(unit = "m s-1", start = 0.0), 'w'(unit = "m s-1", start = 0.0);
    Real 'lambda'(unit = "s-2") "rod force per mass and length";
  equation
    der('x') = 'u';
    der('z') = 'w';
    der('u') = (-'lambda') * 'x';
    der('w') = (-'lambda') * 'z' - 'g';
    0.0 = 'x' ^ 2 + 'z' ^ 2 - 'L' ^ 2;
    annotation(experiment(StartTime = 0.0, StopTime = 2.0));
  end 'pendulum_index3';
end 'pendulum_index3';
