//! base 0.1.0
package 'van_der_pol'
  model 'van_der_pol' "Van der Pol's oscillator, stiff"
    parameter Real 'mu' = 1000.0 "damping";
    Real 'y1'(start = 2.0, fixed = true), 'y2'(start = 0.0, fixed = true);
  equation
    der('y1') = 'y2';
    der('y2') = 'mu' * (1.0 - 'y1' ^ 2) * 'y2' - 'y1';
    annotation(experiment(StartTime = 0.0, StopTime = 2000.0));
  end 'van_der_pol';
end 'van_der_pol';
