//! base 0.1.0
package 'diffusion'
  model 'diffusion' "diffusion by finite volumes: fluxes between cells, contents of cells"
    parameter Real 'D'(unit = "m2.s-1", min = 0.0) = 1.0 "diffusivity";
    parameter Real 'length'(unit = "m") = 1.0 "of the domain";
    parameter Real 'boundary' = 1.0 "value on the left";
    constant Integer 'cells' = 340;
    parameter Real 'dx'(unit = "m") = 'length' / 'cells';
    Real[340] 'content'(each start = 0.0, each fixed = true) "of a cell, per area";
    Real[340] 'u' "value in a cell";
    Real[341] 'flux' "through the left side of a cell; the last one leaves the domain";
  equation
    for 'i' in 1:'cells' loop
      'content'['i'] = 'u'['i'] * 'dx';
      der('content'['i']) = 'flux'['i'] - 'flux'['i' + 1];
    end for;
    'flux'[1] = 2.0 * 'D' * ('boundary' - 'u'[1]) / 'dx';
    for 'i' in 2:'cells' loop
      'flux'['i'] = 'D' * ('u'['i' - 1] - 'u'['i']) / 'dx';
    end for;
    'flux'['cells' + 1] = 0.0;
    annotation(experiment(StartTime = 0.0, StopTime = 0.2));
  end 'diffusion';
end 'diffusion';
