#include "host/modelica/library.hpp"

#include <memory>
#include <string>

#include "host/modelica/parser.hpp"

namespace manyfold::modelica {
namespace {

const std::string functions = R"(
package 'Modelica'
function 'Modelica.Math.BooleanVectors.anyTrue'
  input Boolean 'b'[:];
  output Boolean 'result' = false;
algorithm
  for 'i' in 1:size('b', 1) loop
    'result' := 'result' or 'b'['i'];
  end for;
end 'Modelica.Math.BooleanVectors.anyTrue';

function 'Modelica.Math.BooleanVectors.allTrue'
  input Boolean 'b'[:];
  output Boolean 'result' = true;
algorithm
  for 'i' in 1:size('b', 1) loop
    'result' := 'result' and 'b'['i'];
  end for;
end 'Modelica.Math.BooleanVectors.allTrue';

function 'Modelica.Math.BooleanVectors.countTrue'
  input Boolean 'b'[:];
  output Integer 'n' = 0;
algorithm
  for 'i' in 1:size('b', 1) loop
    'n' := if 'b'['i'] then 'n' + 1 else 'n';
  end for;
end 'Modelica.Math.BooleanVectors.countTrue';

function 'Modelica.Math.BooleanVectors.oneTrue'
  input Boolean 'b'[:];
  output Boolean 'result';
algorithm
  'result' := 'Modelica.Math.BooleanVectors.countTrue'('b') == 1;
end 'Modelica.Math.BooleanVectors.oneTrue';

function 'Modelica.Math.BooleanVectors.firstTrueIndex'
  input Boolean 'b'[:];
  output Integer 'index' = 0;
algorithm
  for 'i' in 1:size('b', 1) loop
    'index' := if 'index' == 0 and 'b'['i'] then 'i' else 'index';
  end for;
end 'Modelica.Math.BooleanVectors.firstTrueIndex';

function 'Modelica.Math.wrapAngle'
  input Real 'u';
  input Boolean 'positiveRange' = false;
  output Real 'y';
algorithm
  'y' := mod('u', 6.283185307179586);
  if not 'positiveRange' and 'y' > 3.141592653589793 then
    'y' := 'y' - 6.283185307179586;
  end if;
end 'Modelica.Math.wrapAngle';

function 'Modelica.Math.atan3'
  input Real 'u1';
  input Real 'u2';
  input Real 'y0' = 0.0;
  output Real 'y';
protected
  Real 'w';
algorithm
  'w' := atan2('u1', 'u2');
  if 'u1' == 0.0 and 'u2' == 0.0 then
    'y' := 'y0';
  elseif 'y0' == 0.0 then
    'y' := 'w';
  else
    'y' := 'w' + 6.283185307179586 * floor((3.141592653589793 + 'y0' - 'w') / 6.283185307179586);
  end if;
end 'Modelica.Math.atan3';

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
end 'Modelica';
)";

}  // namespace

const Class& library_functions() {
  static const std::unique_ptr<Class> parsed = [] {
    Diagnostics diagnostics("the library", functions);
    return parse(functions, diagnostics);
  }();
  return *parsed;
}

}  // namespace manyfold::modelica
