// Functions of the library: fluids and media. Regularised functions and friction after the documentation of
// Modelica.Fluid; properties of ideal gases after McBride, Zehe and Gordon, NASA/TP-2002-211556.
#include "host/modelica/library.hpp"

namespace manyfold::modelica {

const char* const library_of_fluid = R"(
function 'Modelica.Fluid.Utilities.evaluatePoly3_derivativeAtZero'
  input Real 'x';
  input Real 'x1';
  input Real 'y1';
  input Real 'y1d';
  input Real 'y0d';
  output Real 'y';
protected
  Real 'u' = 'x' / 'x1';
algorithm
  'y' := 'u' * ('x1' * 'y0d' + 'u' * (3.0 * 'y1' - 'x1' * ('y1d' + 2.0 * 'y0d')
    + 'u' * ('x1' * ('y1d' + 'y0d') - 2.0 * 'y1')));
end 'Modelica.Fluid.Utilities.evaluatePoly3_derivativeAtZero';

function 'Modelica.Fluid.Utilities.regRoot'
  input Real 'x';
  input Real 'delta'(min = 0.0) = 0.01;
  output Real 'y' = 'x' / ('x' * 'x' + 'delta' * 'delta') ^ 0.25;
end 'Modelica.Fluid.Utilities.regRoot';

function 'Modelica.Fluid.Utilities.regRoot_der'
  input Real 'x';
  input Real 'delta'(min = 0.0) = 0.01;
  input Real 'dx';
  output Real 'dy' = 'dx' * 0.5 * ('x' * 'x' + 2.0 * 'delta' * 'delta') / ('x' * 'x' + 'delta' * 'delta') ^ 1.25;
end 'Modelica.Fluid.Utilities.regRoot_der';

function 'Modelica.Fluid.Utilities.regSquare'
  input Real 'x';
  input Real 'delta'(min = 0.0) = 0.01;
  output Real 'y' = 'x' * sqrt('x' * 'x' + 'delta' * 'delta');
end 'Modelica.Fluid.Utilities.regSquare';

function 'Modelica.Fluid.Utilities.regPow'
  input Real 'x';
  input Real 'a';
  input Real 'delta'(min = 0.0) = 0.01;
  output Real 'y' = 'x' * ('x' * 'x' + 'delta' * 'delta') ^ (('a' - 1.0) / 2.0);
end 'Modelica.Fluid.Utilities.regPow';

function 'Modelica.Fluid.Utilities.regStep'
  input Real 'x';
  input Real 'y1';
  input Real 'y2';
  input Real 'x_small'(min = 0.0) = 1e-5;
  output Real 'y';
algorithm
  'y' := smooth(1, if 'x' > 'x_small' then 'y1' else if 'x' < -'x_small' then 'y2' else if 'x_small' > 0.0
    then 'x' / 'x_small' * (('x' / 'x_small') ^ 2 - 3.0) * ('y2' - 'y1') / 4.0 + ('y1' + 'y2') / 2.0
    else ('y1' + 'y2') / 2.0);
end 'Modelica.Fluid.Utilities.regStep';

function 'Modelica.Media.Common.smoothStep'
  input Real 'x';
  input Real 'y1';
  input Real 'y2';
  input Real 'x_small'(min = 0.0) = 1e-5;
  output Real 'y' = 'Modelica.Fluid.Utilities.regStep'('x', 'y1', 'y2', 'x_small');
end 'Modelica.Media.Common.smoothStep';

function '.Utilities.spliceFunction'
  input Real 'pos';
  input Real 'neg';
  input Real 'x';
  input Real 'deltax' = 1.0;
  output Real 'out';
protected
  Real 'u' = 'x' / 'deltax';
  Real 'w';
algorithm
  if 'u' <= -0.9999999999 then
    'w' := 0.0;
  elseif 'u' >= 0.9999999999 then
    'w' := 1.0;
  else
    'w' := 0.5 + 0.5 * tanh(tan('u' * 1.5707963267948966));
  end if;
  'out' := 'pos' * 'w' + (1.0 - 'w') * 'neg';
end '.Utilities.spliceFunction';

function 'Modelica.Fluid.Utilities.cubicHermite'
  input Real 'x';
  input Real 'x1';
  input Real 'x2';
  input Real 'y1';
  input Real 'y2';
  input Real 'y1d';
  input Real 'y2d';
  output Real 'y';
protected
  Real 'h' = 'x2' - 'x1';
  Real 'u' = ('x' - 'x1') / 'h';
algorithm
  'y' := 'y1' + 'u' * ('h' * 'y1d' + 'u' * (3.0 * ('y2' - 'y1') - 'h' * (2.0 * 'y1d' + 'y2d')
    + 'u' * ('h' * ('y1d' + 'y2d') - 2.0 * ('y2' - 'y1'))));
end 'Modelica.Fluid.Utilities.cubicHermite';

function 'Modelica.Fluid.Utilities.cubicHermite_withDerivative'
  input Real 'x';
  input Real 'x1';
  input Real 'x2';
  input Real 'y1';
  input Real 'y2';
  input Real 'y1d';
  input Real 'y2d';
  output Real 'y';
  output Real 'dy_dx';
protected
  Real 'h' = 'x2' - 'x1';
  Real 'u' = ('x' - 'x1') / 'h';
  Real 'b' = 3.0 * ('y2' - 'y1') - 'h' * (2.0 * 'y1d' + 'y2d');
  Real 'a' = 'h' * ('y1d' + 'y2d') - 2.0 * ('y2' - 'y1');
algorithm
  'y' := 'y1' + 'u' * ('h' * 'y1d' + 'u' * ('b' + 'u' * 'a'));
  'dy_dx' := 'y1d' + 'u' * (2.0 * 'b' + 3.0 * 'u' * 'a') / 'h';
end 'Modelica.Fluid.Utilities.cubicHermite_withDerivative';

function 'Modelica.Fluid.Utilities.regFun3'
  input Real 'x';
  input Real 'x0';
  input Real 'x1';
  input Real 'y0';
  input Real 'y1';
  input Real 'y0d';
  input Real 'y1d';
  output Real 'y';
  output Real 'c';
protected
  Real 'h' = 'x1' - 'x0';
  Real 's' = ('y1' - 'y0') / ('x1' - 'x0');
  Real 'b' = 3.0 * 's' - 2.0 * 'y0d' - 'y1d';
  Real 'k' = 'y0d' + 'y1d' - 2.0 * 's';
  Real 'mu';
  Real 'least';
  Real 'level';
  Real 'theta';
  Real 'rho';
algorithm
  assert('x0' < 'x1', "regFun3(): Data points not sorted appropriately. Please flip arguments.");
  'y' := 'y0' + ('x' - 'x0') * ('y0d' + ('x' - 'x0') / 'h' * ('b' + ('x' - 'x0') * 'k' / 'h'));
  'c' := 1.5 * 's' - 0.25 * ('y0d' + 'y1d');
  if abs('s') <= 0.0 then
    'y' := 'y0' + 's' * ('x' - 'x0');
    'c' := 0.0;
  elseif abs('k') >= 2.220446049250313e-14 
    and not (abs('y0d' - 'y1d') <= 2.220446049250313e-14 and 's' > 'y0d') then
    'mu' := -'b' * 'h' / (3.0 * 'k');
    'level' := 'y0d' - 'b' * 'b' / (3.0 * 'k');
    'least' := (6.0 * 's' * ('y0d' + 'y1d' - 1.5 * 's') - 'y0d' * 'y1d' - 'y0d' ^ 2 - 'y1d' ^ 2) / (3.0 * 'k');
    'rho' := 0.25 * sign('s') * min(abs('level'), abs('s'));
    if 'mu' > 0.0 and 'h' - 'mu' < 'h' and 's' * 'level' <= 0.0 or abs('rho') < abs('least') and 'least' * 's' >= 0.0
      or abs('rho') < abs(0.1 * 's') then
      'c' := 'rho';
      if abs('c') < abs('least') and 'least' * 's' >= 0.0 then
        'c' := 'least';
      end if;
      if abs('c') < abs(0.1 * 's') then
        'c' := 0.1 * 's';
      end if;
      'theta' := ('y0d' * 'mu' + 'y1d' * ('h' - 'mu')) / 'h';
      if abs('theta' - 'c') < 1e-6 then
        'c' := (1.0 - 1e-6) * 'theta';
      end if;
      'rho' := 3.0 * ('s' - 'c') / ('theta' - 'c');
      if 'x' < 'x0' + 'rho' * 'mu' then
        'y' := 'y0' + 'c' * ('x' - 'x0') + ('y0d' - 'c') / max(('rho' * 'mu') ^ 2, 2.220446049250313e-14) / 3.0
          * (('x' - 'x0' - 'rho' * 'mu') ^ 3 + ('rho' * 'mu') ^ 3);
      elseif 'x' < 'x1' - 'rho' * ('h' - 'mu') then
        'y' := 'y0' + 'c' * ('x' - 'x0') + ('y0d' - 'c') / max(('rho' * 'mu') ^ 2, 2.220446049250313e-14) / 3.0
          * ('rho' * 'mu') ^ 3;
      else
        'y' := 'y1' + 'c' * ('x' - 'x1') + ('y1d' - 'c') / max(('rho' * ('h' - 'mu')) ^ 2, 2.220446049250313e-14) / 3.0
          * (('x' - 'x1' + 'rho' * ('h' - 'mu')) ^ 3 - ('rho' * ('h' - 'mu')) ^ 3);
      end if;
    end if;
  end if;
end 'Modelica.Fluid.Utilities.regFun3';

function '.WallFriction.pressureLoss_m_flow.interpolateInRegion2'
  input Real 'Re';
  input Real 'Re1';
  input Real 'Re2';
  input Real 'Delta';
  output Real 'lambda2';
protected
  Real 'a' = 'Delta' / 3.7 + 5.74 / 'Re2' ^ 0.9;
  Real 'L' = 0.25 * ('Re2' / log10('a')) ^ 2;
algorithm
  'lambda2' := 10.0 ^ 'Modelica.Fluid.Utilities.cubicHermite'(log10('Re'), log10('Re1'), log10('Re2'),
    log10(64.0 * 'Re1'), log10('L'), 1.0, 2.0 + 2.0 * 0.9 * 5.74 / (log(10.0) * 'a' * log10('a') * 'Re2' ^ 0.9));
end '.WallFriction.pressureLoss_m_flow.interpolateInRegion2';

function '.WallFriction.Internal.m_flow_of_dp_fric'
  input Real 'dp_fric';
  input Real 'rho_a';
  input Real 'rho_b';
  input Real 'mu_a';
  input Real 'mu_b';
  input Real 'length';
  input Real 'diameter';
  input Real 'crossArea';
  input Real 'Re1';
  input Real 'Re2';
  input Real 'Delta';
  output Real 'm_flow';
  output Real 'dm_flow_ddp_fric';
protected
  Real 'rho' = if 'dp_fric' >= 0.0 then 'rho_a' else 'rho_b';
  Real 'mu' = if 'dp_fric' >= 0.0 then 'mu_a' else 'mu_b';
  Real 'slope' = 2.0 * 'diameter' ^ 3 * 'rho' / ('length' * 'mu' * 'mu');
  Real 'lambda2' = abs('dp_fric') * 'slope';
  Real 'Re' = 'lambda2' / 64.0;
  Real 'dRe' = 'slope' / 64.0;
  Real 'f';
  Real 'L';
  Real 'y';
  Real 'yd';
algorithm
  if 'Re' > 'Re1' then
    'f' := 2.51 / sqrt('lambda2') + 0.27 * 'Delta';
    'Re' := -2.0 * sqrt('lambda2') * log10('f');
    'dRe' := (-log10('f') + 2.51 / (log(10.0) * sqrt('lambda2') * 'f')) * 'slope' / sqrt('lambda2');
    if 'Re' < 'Re2' then
      'L' := 0.25 * ('Re2' / log10('Delta' / 3.7 + 5.74 / 'Re2' ^ 0.9)) ^ 2;
      'f' := 2.51 / sqrt('L') + 0.27 * 'Delta';
      'y' := -2.0 * sqrt('L') * log10('f');
      ('y', 'yd') := 'Modelica.Fluid.Utilities.cubicHermite_withDerivative'(log10('lambda2'), log10(64.0 * 'Re1'),
        log10('L'), log10('Re1'), log10('y'), 1.0, 0.5 + 2.51 / log(10.0) / ('y' * 'f'));
      'Re' := 10.0 ^ 'y';
      'dRe' := 'Re' / abs('dp_fric') * 'yd';
    end if;
  end if;
  'm_flow' := 'crossArea' / 'diameter' * 'mu' * (if 'dp_fric' >= 0.0 then 'Re' else -'Re');
  'dm_flow_ddp_fric' := 'crossArea' / 'diameter' * 'mu' * 'dRe';
end '.WallFriction.Internal.m_flow_of_dp_fric';

function 'Modelica.Media.IdealGases.Common.Functions.cp_T'
  input 'Modelica.Media.IdealGases.Common.DataRecord' 'data';
  input Real 'T';
  output Real 'cp';
protected
  Real 'a'[7] = smooth(0, if 'T' < 'data'.'Tlimit' then 'data'.'alow' else 'data'.'ahigh');
algorithm
  'cp' := 'data'.'R_s' * ('a'[1] + 'T' * ('a'[2] + 'T' * ('a'[3] + 'T' * ('a'[4] + 'T' * ('a'[5] + 'T' * ('a'[6]
    + 'a'[7] * 'T')))))) / 'T' ^ 2;
end 'Modelica.Media.IdealGases.Common.Functions.cp_T';

function 'Modelica.Media.IdealGases.Common.Functions.h_T'
  input 'Modelica.Media.IdealGases.Common.DataRecord' 'data';
  input Real 'T';
  input Boolean 'exclEnthForm' = true;
  input Integer 'refChoice' = 1;
  input Real 'h_off' = 0.0;
  output Real 'h';
protected
  Real 'a'[7] = smooth(0, if 'T' < 'data'.'Tlimit' then 'data'.'alow' else 'data'.'ahigh');
  Real 'b'[2] = smooth(0, if 'T' < 'data'.'Tlimit' then 'data'.'blow' else 'data'.'bhigh');
algorithm
  'h' := 'data'.'R_s' * (-'a'[1] + 'T' * ('b'[1] + 'a'[2] * log('T') + 'T' * ('a'[3] + 'T' * ('a'[4] / 2.0 + 'T'
    * ('a'[5] / 3.0 + 'T' * ('a'[6] / 4.0 + 'a'[7] / 5.0 * 'T')))))) / 'T'
    - (if 'exclEnthForm' then 'data'.'Hf' else 0.0) + (if 'refChoice' == 1 then 'data'.'H0' else 0.0)
    + (if 'refChoice' == 3 then 'h_off' else 0.0);
end 'Modelica.Media.IdealGases.Common.Functions.h_T';

function 'Modelica.Media.IdealGases.Common.Functions.h_Tlow'
  input 'Modelica.Media.IdealGases.Common.DataRecord' 'data';
  input Real 'T';
  input Boolean 'exclEnthForm' = true;
  input Integer 'refChoice' = 1;
  input Real 'h_off' = 0.0;
  output Real 'h';
protected
  Real 'a'[7] = 'data'.'alow';
algorithm
  'h' := 'data'.'R_s' * (-'a'[1] + 'T' * ('data'.'blow'[1] + 'a'[2] * log('T') + 'T' * ('a'[3] + 'T'
    * ('a'[4] / 2.0 + 'T' * ('a'[5] / 3.0 + 'T' * ('a'[6] / 4.0 + 'a'[7] / 5.0 * 'T')))))) / 'T'
    - (if 'exclEnthForm' then 'data'.'Hf' else 0.0) + (if 'refChoice' == 1 then 'data'.'H0' else 0.0)
    + (if 'refChoice' == 3 then 'h_off' else 0.0);
end 'Modelica.Media.IdealGases.Common.Functions.h_Tlow';

function 'Modelica.Media.IdealGases.Common.Functions.s0_T'
  input 'Modelica.Media.IdealGases.Common.DataRecord' 'data';
  input Real 'T';
  output Real 's';
protected
  Real 'a'[7] = if 'T' < 'data'.'Tlimit' then 'data'.'alow' else 'data'.'ahigh';
  Real 'b'[2] = if 'T' < 'data'.'Tlimit' then 'data'.'blow' else 'data'.'bhigh';
algorithm
  's' := 'data'.'R_s' * ('b'[2] - ('a'[1] / (2.0 * 'T') + 'a'[2]) / 'T' + 'a'[3] * log('T') + 'T' * ('a'[4] + 'T'
    * ('a'[5] / 2.0 + 'T' * ('a'[6] / 3.0 + 'a'[7] / 4.0 * 'T'))));
end 'Modelica.Media.IdealGases.Common.Functions.s0_T';
)";

}  // namespace manyfold::modelica
