//! base 0.1.0
package 'heat_exchanger'
  model 'heat_exchanger' "counterflow heat exchanger: oil is cooled by water, in cells"
    constant Integer 'n' = 12 "cells";
    parameter Real 'm_oil'(unit = "kg.s-1", min = 0.0) = 0.5 "mass flow of the oil";
    parameter Real 'm_water'(unit = "kg.s-1", min = 0.0) = 0.4 "mass flow of the water";
    parameter Real 'T_oil_in'(unit = "K") = 380.0;
    parameter Real 'T_water_in'(unit = "K") = 290.0;
    parameter Real 'area'(unit = "m2") = 6.0 "of the wall";
    parameter Real 'fouling'(unit = "m2.K.W-1") = 2e-4 "resistance of the fouling on the side of the oil";
    parameter Real 'M_oil'(unit = "kg") = 20.0 "oil in the exchanger";
    parameter Real 'M_water'(unit = "kg") = 15.0;
    parameter Real 'M_wall'(unit = "kg") = 60.0;
    constant Real 'c_water'(unit = "J.kg-1.K-1") = 4180.0;
    constant Real 'c_wall'(unit = "J.kg-1.K-1") = 500.0;
    Real[12] 'T_oil'(each unit = "K", each start = 300.0, each fixed = true);
    Real[12] 'T_water'(each unit = "K", each start = 290.0, each fixed = true);
    Real[12] 'T_wall'(each unit = "K", each start = 290.0, each fixed = true);
    Real[12] 'c_oil'(each unit = "J.kg-1.K-1") "heat capacity of the oil";
    Real[12] 'viscosity'(each unit = "Pa.s") "of the oil";
    Real[12] 'Nusselt' "of the oil, with the viscosity at the wall";
    Real[12] 'h_oil'(each unit = "W.m-2.K-1") "heat transfer coefficient";
    Real[12] 'T_surface'(each unit = "K", each start = 295.0) "of the fouling towards the oil";
    Real[12] 'q_oil'(each unit = "W") "heat from the oil to the wall";
    Real[12] 'q_water'(each unit = "W") "heat from the wall to the water";
    Real 'h_water'(unit = "W.m-2.K-1");
    Real 'Q'(unit = "W") "heat to the water";
    Real 'effectiveness';
  equation
    'h_water' = 1500.0 * ('m_water' / 0.4) ^ 0.8;
    for 'i' in 1:'n' loop
      'c_oil'['i'] = 1800.0 + 3.5 * ('T_oil'['i'] - 300.0);
      'viscosity'['i'] = 0.05 * exp(-0.03 * ('T_oil'['i'] - 300.0));
      'Nusselt'['i'] = 12.0 * ('viscosity'['i'] / (0.05 * exp(-0.03 * ('T_surface'['i'] - 300.0)))) ^ 0.14;
      'h_oil'['i'] = 'Nusselt'['i'] * 0.13 / 0.006;
      'q_oil'['i'] = 'h_oil'['i'] * 'area' / 'n' * ('T_oil'['i'] - 'T_surface'['i']);
      'q_oil'['i'] = 'area' / 'n' / 'fouling' * ('T_surface'['i'] - 'T_wall'['i']);
      'q_water'['i'] = 'h_water' * 'area' / 'n' * ('T_wall'['i'] - 'T_water'['i']);
      'M_wall' / 'n' * 'c_wall' * der('T_wall'['i']) = 'q_oil'['i'] - 'q_water'['i'];
      'M_oil' / 'n' * 'c_oil'['i'] * der('T_oil'['i']) = (if 'i' == 1 then 'm_oil' * 'c_oil'['i'] * ('T_oil_in' - 'T_oil'['i']) else 'm_oil' * 'c_oil'['i'] * ('T_oil'[max('i' - 1, 1)] - 'T_oil'['i'])) - 'q_oil'['i'];
      'M_water' / 'n' * 'c_water' * der('T_water'['i']) = (if 'i' == 'n' then 'm_water' * 'c_water' * ('T_water_in' - 'T_water'['i']) else 'm_water' * 'c_water' * ('T_water'[min('i' + 1, 'n')] - 'T_water'['i'])) + 'q_water'['i'];
    end for;
    'Q' = 'm_water' * 'c_water' * ('T_water'[1] - 'T_water_in');
    'effectiveness' = ('T_oil_in' - 'T_oil'['n']) / ('T_oil_in' - 'T_water_in');
    annotation(experiment(StartTime = 0.0, StopTime = 600.0));
  end 'heat_exchanger';
end 'heat_exchanger';
