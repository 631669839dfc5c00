//! base 0.1.0
package 'robertson'
  model 'robertson' "Robertson's chemical kinetics"
    parameter Real 'k1'(unit = "s-1") = 0.04 "slow reaction";
    parameter Real 'k2'(unit = "s-1") = 1e4 "fast reaction";
    parameter Real 'k3'(unit = "s-1") = 3e7 "very fast reaction";
    Real 'y1'(start = 1.0, fixed = true) "share of the first species";
    Real 'y2'(start = 0.0, fixed = true) "share of the second species";
    Real 'y3'(start = 0.0) "share of the third species";
    Real 'slow' "rate of the slow reaction";
  equation
    'slow' = 'k1' * 'y1';
    der('y1') = (-'slow') + 'k2' * 'y2' * 'y3';
    der('y2') = 'slow' - 'k3' * 'y2' ^ 2 - 'k2' * 'y2' * 'y3';
    'y1' + 'y2' + 'y3' = 1.0;
    annotation(experiment(StartTime = 0.0, StopTime = 1e5));
  end 'robertson';
end 'robertson';
