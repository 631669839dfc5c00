//! base 0.1.0
package 'das1'
  model 'das1' "Cameron's problem DAS 1"
    parameter Real 'beta1'(unit = "s-1") = 1000.0 "first eigenvalue of B";
    parameter Real 'beta2'(unit = "s-1") = 800.0 "second eigenvalue of B";
    parameter Real 'beta3'(unit = "s-1") = -10.0 "third eigenvalue of B";
    parameter Real 'beta4'(unit = "s-1") = 0.001 "fourth eigenvalue of B";
    Real 'y1'(start = -1.0, fixed = true), 'y2'(start = -1.0, fixed = true), 'y3'(start = -1.0, fixed = true), 'y4'(start = -1.0, fixed = true);
    Real 'y5'(start = 1.0), 'y6'(start = 1.0), 'y7'(start = -2.0), 'y8'(start = -3.0);
    Real 'r', 'z1', 'z2', 'z3', 'z4', 's', 'h';
  equation
    'r' = 0.5 * ('y1' + 'y2' + 'y3' + 'y4');
    'z1' = 'r' - 'y1';
    'z2' = 'r' - 'y2';
    'z3' = 'r' - 'y3';
    'z4' = 'r' - 'y4';
    's' = 0.5 * ('z1' ^ 2 + 'z2' ^ 2 + 'z3' ^ 2 + 'z4' ^ 2);
    'h' = 0.5 * ('beta1' * 'z1' + 'beta2' * 'z2' + 'beta3' * 'z3' + 'beta4' * 'z4');
    der('y1') = 's' - 'z1' ^ 2 - ('h' - 'beta1' * 'z1');
    der('y2') = 's' - 'z2' ^ 2 - ('h' - 'beta2' * 'z2');
    der('y3') = 's' - 'z3' ^ 2 - ('h' - 'beta3' * 'z3');
    der('y4') = 's' - 'z4' ^ 2 - ('h' - 'beta4' * 'z4');
    0.0 = 'y5' + 'y1' * 'y6';
    0.0 = 2.0 * 'y6' + 'y6' ^ 3 - 'y1' + 'y7' - 1.0 - exp(-time);
    0.0 = 'y7' - 'y8' + 'y1' * 'y6';
    0.0 = 'y7' + 'y8' + 5.0 * 'y1' * 'y2';
    annotation(experiment(StartTime = 0.0, StopTime = 1000.0));
  end 'das1';
end 'das1';
