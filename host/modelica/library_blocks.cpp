// Functions of the library: blocks, filters and electrical components.
#include "host/modelica/library.hpp"

namespace manyfold::modelica {

const char* const library_of_blocks = R"(
function 'Modelica.Electrical.Analog.Semiconductors.pow'
  input Real 'x';
  input Real 'y';
  output Real 'z';
algorithm
  'z' := 'x' ^ 'y';
end 'Modelica.Electrical.Analog.Semiconductors.pow';

function 'Modelica.Electrical.Analog.Semiconductors.exlin'
  input Real 'x';
  input Real 'Maxexp';
  output Real 'z';
algorithm
  'z' := if 'x' > 'Maxexp' then exp('Maxexp') * (1.0 + 'x' - 'Maxexp') else exp('x');
end 'Modelica.Electrical.Analog.Semiconductors.exlin';

function 'Modelica.Electrical.Analog.Semiconductors.exlin2'
  input Real 'x';
  input Real 'Minexp';
  input Real 'Maxexp';
  output Real 'z';
algorithm
  'z' := if 'x' < 'Minexp' then exp('Minexp') * (1.0 + 'x' - 'Minexp')
    else 'Modelica.Electrical.Analog.Semiconductors.exlin'('x', 'Maxexp');
end 'Modelica.Electrical.Analog.Semiconductors.exlin2';

function 'Modelica.Blocks.Continuous.Internal.Filter.roots.lowPass'
  input Real 'cr_in'[:];
  input Real 'c0_in'[:];
  input Real 'c1_in'[:];
  input Real 'f_cut';
  output Real 'r'[size('cr_in', 1)];
  output Real 'a'[size('c0_in', 1)];
  output Real 'b'[size('c0_in', 1)];
  output Real 'ku'[size('c0_in', 1)];
protected
  Real 'w' = 6.283185307179586 * 'f_cut';
algorithm
  for 'i' in 1:size('cr_in', 1) loop
    'r'['i'] := -'w' * 'cr_in'['i'];
  end for;
  for 'i' in 1:size('c0_in', 1) loop
    'a'['i'] := -'w' * 'c1_in'['i'] / 2.0;
    'b'['i'] := 'w' * sqrt('c0_in'['i'] - ('c1_in'['i'] / 2.0) ^ 2);
    'ku'['i'] := 'w' ^ 2 * 'c0_in'['i'] / 'b'['i'];
  end for;
end 'Modelica.Blocks.Continuous.Internal.Filter.roots.lowPass';
)";

}  // namespace manyfold::modelica
