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

function 'Modelica.Blocks.Continuous.Internal.Filter.roots.highPass'
  input Real 'cr_in'[:];
  input Real 'c0_in'[:];
  input Real 'c1_in'[:];
  input Real 'f_cut';
  output Real 'r'[size('cr_in', 1)];
  output Real 'a'[size('c0_in', 1)];
  output Real 'b'[size('c0_in', 1)];
  output Real 'ku'[size('c0_in', 1)];
  output Real 'k1'[size('c0_in', 1)];
  output Real 'k2'[size('c0_in', 1)];
protected
  Real 'w' = 6.283185307179586 * 'f_cut';
algorithm
  for 'i' in 1:size('cr_in', 1) loop
    'r'['i'] := -'w' / 'cr_in'['i'];
  end for;
  for 'i' in 1:size('c0_in', 1) loop
    'a'['i'] := -'w' * 'c1_in'['i'] / 'c0_in'['i'] / 2.0;
    'b'['i'] := sqrt('w' ^ 2 / 'c0_in'['i'] - 'a'['i'] ^ 2);
    'ku'['i'] := 'w' ^ 2 / 'c0_in'['i'] / 'b'['i'];
    'k1'['i'] := 2.0 * 'a'['i'] / 'ku'['i'];
    'k2'['i'] := ('a'['i'] ^ 2 - 'b'['i'] ^ 2) / ('a'['i'] ^ 2 + 'b'['i'] ^ 2);
  end for;
end 'Modelica.Blocks.Continuous.Internal.Filter.roots.highPass';

function 'Modelica.Blocks.Continuous.Internal.Filter.Utilities.bandPassAlpha'
  input Real 'a';
  input Real 'b';
  input Real 'w';
  output Real 'alpha';
protected
  Real 'x' = -'a' * 'w' / 2.0;
  Real 'y' = 'w' * sqrt('b' - 'a' ^ 2 / 4.0);
  Real 'real' = 'x' ^ 2 - 'y' ^ 2 - 4.0;
  Real 'size' = sqrt('real' ^ 2 + 4.0 * 'x' ^ 2 * 'y' ^ 2);
  Real 'u' = sqrt(('size' + 'real') / 2.0);
  Real 'v' = sqrt(('size' - 'real') / 2.0);
algorithm
  assert('a' ^ 2 / 4.0 <= 'b', "the poles of the base filter must be conjugate complex numbers");
  'alpha' := 2.0 / sqrt(max(('x' - 'u') ^ 2 + ('y' + 'v') ^ 2, ('x' + 'u') ^ 2 + ('y' - 'v') ^ 2));
end 'Modelica.Blocks.Continuous.Internal.Filter.Utilities.bandPassAlpha';

function 'Modelica.Blocks.Continuous.Internal.Filter.Utilities.bandPoles'
  input Real 'c1_of_real'[:];
  input Real 'c0_in'[:];
  input Real 'c1_in'[:];
  input Real 'width'[size('c0_in', 1)];
  input Real 'w';
  output Real 'a'[size('c1_of_real', 1) + 2 * size('c0_in', 1)];
  output Real 'b'[size('a', 1)];
  output Real 'ku'[size('a', 1)];
protected
  Real 'c0'[size('a', 1)];
  Real 'c1'[size('a', 1)];
  Real 'alpha';
  Real 'c';
  Integer 'j';
algorithm
  for 'i' in 1:size('c1_of_real', 1) loop
    'c1'['i'] := 'c1_of_real'['i'];
    'c0'['i'] := 'w' ^ 2;
  end for;
  for 'i' in 1:size('c0_in', 1) loop
    'alpha' := 'Modelica.Blocks.Continuous.Internal.Filter.Utilities.bandPassAlpha'('c1_in'['i'], 'c0_in'['i'],
      'width'['i']);
    'c' := 'c1_in'['i'] * 'width'['i'] / ('alpha' + 1.0 / 'alpha');
    'j' := size('c1_of_real', 1) + 2 * 'i' - 1;
    'c1'['j'] := 'w' * 'c' / 'alpha';
    'c1'['j' + 1] := 'w' * 'c' * 'alpha';
    'c0'['j'] := ('w' / 'alpha') ^ 2;
    'c0'['j' + 1] := ('w' * 'alpha') ^ 2;
  end for;
  for 'i' in 1:size('a', 1) loop
    'a'['i'] := -'c1'['i'] / 2.0;
    assert('c0'['i'] >= 'a'['i'] ^ 2, "the poles of the band filter must be conjugate complex numbers");
    'b'['i'] := sqrt('c0'['i'] - 'a'['i'] ^ 2);
    'ku'['i'] := 'c0'['i'] / 'b'['i'];
  end for;
end 'Modelica.Blocks.Continuous.Internal.Filter.Utilities.bandPoles';

function 'Modelica.Blocks.Continuous.Internal.Filter.roots.bandPass'
  input Real 'cr_in'[:];
  input Real 'c0_in'[:];
  input Real 'c1_in'[:];
  input Real 'f_min';
  input Real 'f_max';
  output Real 'a'[size('cr_in', 1) + 2 * size('c0_in', 1)];
  output Real 'b'[size('a', 1)];
  output Real 'ku'[size('a', 1)];
  output Real 'k1'[size('a', 1)];
  output Real 'k2'[size('a', 1)];
protected
  Real 'w' = 6.283185307179586 * sqrt('f_min' * 'f_max');
  Real 'band' = ('f_max' - 'f_min') / sqrt('f_min' * 'f_max');
  Real 'c1_of_real'[size('cr_in', 1)];
  Real 'width'[size('c0_in', 1)];
algorithm
  for 'i' in 1:size('cr_in', 1) loop
    'c1_of_real'['i'] := 'w' * 'cr_in'['i'] * 'band';
  end for;
  for 'i' in 1:size('c0_in', 1) loop
    'width'['i'] := 'band';
  end for;
  ('a', 'b', 'ku') := 'Modelica.Blocks.Continuous.Internal.Filter.Utilities.bandPoles'('c1_of_real', 'c0_in',
    'c1_in', 'width', 'w');
  for 'i' in 1:size('a', 1) loop
    'k1'['i'] := 'band' * 'w' / 'ku'['i'];
    'k2'['i'] := 'k1'['i'] * 'a'['i'] / 'b'['i'];
  end for;
end 'Modelica.Blocks.Continuous.Internal.Filter.roots.bandPass';

function 'Modelica.Blocks.Continuous.Internal.Filter.roots.bandStop'
  input Real 'cr_in'[:];
  input Real 'c0_in'[:];
  input Real 'c1_in'[:];
  input Real 'f_min';
  input Real 'f_max';
  output Real 'a'[size('cr_in', 1) + 2 * size('c0_in', 1)];
  output Real 'b'[size('a', 1)];
  output Real 'ku'[size('a', 1)];
  output Real 'k1'[size('a', 1)];
  output Real 'k2'[size('a', 1)];
protected
  Real 'w' = 6.283185307179586 * sqrt('f_min' * 'f_max');
  Real 'band' = ('f_max' - 'f_min') / sqrt('f_min' * 'f_max');
  Real 'c1_of_real'[size('cr_in', 1)];
  Real 'width'[size('c0_in', 1)];
algorithm
  for 'i' in 1:size('cr_in', 1) loop
    'c1_of_real'['i'] := 'w' * 'band' / 'cr_in'['i'];
  end for;
  for 'i' in 1:size('c0_in', 1) loop
    'width'['i'] := 'band' / 'c0_in'['i'];
  end for;
  ('a', 'b', 'ku') := 'Modelica.Blocks.Continuous.Internal.Filter.Utilities.bandPoles'('c1_of_real', 'c0_in',
    'c1_in', 'width', 'w');
  for 'i' in 1:size('a', 1) loop
    'k1'['i'] := 2.0 * 'a'['i'] / 'ku'['i'];
    'k2'['i'] := 2.0 * 'a'['i'] ^ 2 / ('a'['i'] ^ 2 + 'b'['i'] ^ 2);
  end for;
end 'Modelica.Blocks.Continuous.Internal.Filter.roots.bandStop';
)";

}  // namespace manyfold::modelica
