//! base 0.1.0
package 'double_pendulum'
  model 'double_pendulum' "two masses on rods, in Cartesian coordinates"
    parameter Real 'm1'(unit = "kg", min = 0.0) = 1.0;
    parameter Real 'm2'(unit = "kg", min = 0.0) = 0.5;
    parameter Real 'L1'(unit = "m", min = 0.0) = 1.0;
    parameter Real 'L2'(unit = "m", min = 0.0) = 0.7;
    parameter Real 'g'(unit = "m.s-2") = 9.81;
    Real 'x1'(unit = "m", start = 0.6, fixed = true);
    Real 'y1'(unit = "m", start = -0.8);
    Real 'x2'(unit = "m", start = 1.1, fixed = true);
    Real 'y2'(unit = "m", start = -1.3);
    Real 'vx1'(unit = "m.s-1", start = 0.0, fixed = true);
    Real 'vy1'(unit = "m.s-1");
    Real 'vx2'(unit = "m.s-1", start = 0.0, fixed = true);
    Real 'vy2'(unit = "m.s-1");
    Real 'F1'(unit = "N") "tension of the upper rod";
    Real 'F2'(unit = "N") "tension of the lower rod";
    Real 'energy'(unit = "J");
  equation
    der('x1') = 'vx1';
    der('y1') = 'vy1';
    der('x2') = 'vx2';
    der('y2') = 'vy2';
    'm1' * der('vx1') = -'F1' * 'x1' / 'L1' + 'F2' * ('x2' - 'x1') / 'L2';
    'm1' * der('vy1') = -'F1' * 'y1' / 'L1' + 'F2' * ('y2' - 'y1') / 'L2' - 'm1' * 'g';
    'm2' * der('vx2') = -'F2' * ('x2' - 'x1') / 'L2';
    'm2' * der('vy2') = -'F2' * ('y2' - 'y1') / 'L2' - 'm2' * 'g';
    'x1' ^ 2 + 'y1' ^ 2 = 'L1' ^ 2;
    ('x2' - 'x1') ^ 2 + ('y2' - 'y1') ^ 2 = 'L2' ^ 2;
    'energy' = 0.5 * 'm1' * ('vx1' ^ 2 + 'vy1' ^ 2) + 0.5 * 'm2' * ('vx2' ^ 2 + 'vy2' ^ 2) + 'g' * ('m1' * 'y1' + 'm2' * 'y2');
    annotation(experiment(StartTime = 0.0, StopTime = 3.0));
  end 'double_pendulum';
end 'double_pendulum';
