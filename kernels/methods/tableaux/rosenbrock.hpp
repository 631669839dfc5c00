#pragma once
// Coefficients of Rosenbrock methods in the transformed variables that need no product with the Jacobian: Hairer &
// Wanner II, section IV.7. With the matrix F_y'/(gamma h) + F_y, for M y' = f(t, y):
//
//   (M/(gamma h) - f_y) U_i = f(t_n + c_i h, y_n + sum_j a_ij U_j) + M sum_j C_ij U_j / h + d_i h f_t
//   y_(n+1) = y_n + sum_i m_i U_i, err = sum_i e_i U_i
//   interior_weight       of errors within the step: see ../interior.hpp
//   H     y(t_n + theta h) = (1 - theta) y_n + theta (y_(n+1) + (1 - theta) sum_k theta^k sum_i H_ki U_i)
//
// All are stiffly accurate and L-stable, and of their order for differential-algebraic systems of index 1.
#include <manyfold/form.hpp>

#include "../../control/error_norm.hpp"

namespace manyfold {

/// Rodas3P of Steinebach, J. Comput. Appl. Math. (2024): order 3, embedded order 2, dense output of order 3.
struct Rodas3PTableau {
  static constexpr const char* name = "rodas3";
  static constexpr const char* family = "Rosenbrock";
  static constexpr int stages = 5;
  static constexpr int order = 3;
  static constexpr Form form = Form::linear_residual;
  static constexpr int order_of_index2 = 0;
  static constexpr int order_of_index3 = 0;
  static constexpr int error_order = 3;  ///< the estimate is O(h^3)
  static constexpr int dense_degree = 3;
  static constexpr double interior_weight = reduced_interior_weight;
  static constexpr double gamma = 0.3333333333333333333333;
  static constexpr double a[5][5] = {{0.0, 0.0, 0.0, 0.0, 0.0},
                                     {1.333333333333333333333, 0.0, 0.0, 0.0, 0.0},
                                     {0.0, 0.0, 0.0, 0.0, 0.0},
                                     {2.90625, 3.375, 0.40625, 0.0, 0.0},
                                     {2.90625, 3.375, 0.40625, 0.0, 0.0}};
  static constexpr double C[5][5] = {{0.0, 0.0, 0.0, 0.0, 0.0},
                                     {-4.0, 0.0, 0.0, 0.0, 0.0},
                                     {8.25, 6.75, 0.0, 0.0, 0.0},
                                     {1.21875, -5.0625, -1.96875, 0.0, 0.0},
                                     {4.03125, -15.1875, -4.03125, 6.0, 0.0}};
  static constexpr double m[5] = {2.90625, 3.375, 0.40625, 0.0, 1.0};
  static constexpr double e[5] = {0.0, 0.0, 0.0, -1.0, 1.0};
  static constexpr double c[5] = {0.0, 0.4444444444444444444444, 0.0, 1.0, 1.0};
  static constexpr double d[5] = {0.3333333333333333333333, -0.1111111111111111111111, 1.0, 0.0, 0.0};
  static constexpr double H[2][5] = {{1.78125, 6.75, 0.15625, -6.0, -1.0}, {4.21875, -15.1875, -3.09375, 9.0, 0.0}};
};

/// RODAS of Hairer & Wanner II, section VI.4: order 4, embedded order 3, dense output of order 3.
struct Rodas4Tableau {
  static constexpr const char* name = "rodas4";
  static constexpr const char* family = "Rosenbrock";
  static constexpr int stages = 6;
  static constexpr int order = 4;
  static constexpr Form form = Form::linear_residual;
  static constexpr int order_of_index2 = 0;
  static constexpr int order_of_index3 = 0;
  static constexpr int error_order = 4;  ///< the estimate is O(h^4)
  static constexpr int dense_degree = 3;
  static constexpr double interior_weight = reduced_interior_weight;
  static constexpr double gamma = 0.25;
  static constexpr double a[6][6] = {
      {0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
      {1.544, 0.0, 0.0, 0.0, 0.0, 0.0},
      {0.9466785280815826, 0.2557011698983284, 0.0, 0.0, 0.0, 0.0},
      {3.314825187068521, 2.896124015972201, 0.9986419139977817, 0.0, 0.0, 0.0},
      {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895, 0.0, 0.0},
      {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895, 1.0, 0.0}};
  static constexpr double C[6][6] = {
      {0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
      {-5.6688, 0.0, 0.0, 0.0, 0.0, 0.0},
      {-2.430093356833875, -0.2063599157091915, 0.0, 0.0, 0.0, 0.0},
      {-0.1073529058151375, -9.594562251023355, -20.47028614809616, 0.0, 0.0, 0.0},
      {7.496443313967647, -10.24680431464352, -33.99990352819905, 11.7089089320616, 0.0, 0.0},
      {8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054, 0.0}};
  static constexpr double m[6] = {
      1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895, 1.0, 1.0};
  static constexpr double e[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 1.0};
  static constexpr double c[6] = {0.0, 0.386, 0.21, 0.63, 1.0, 1.0};
  static constexpr double d[6] = {0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0};
  static constexpr double H[2][6] = {
      {10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662, 0.0},
      {-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872, 0.0}};
};

/// Rodas5P of Steinebach, BIT 63 (2023) 27: order 5, embedded order 4, dense output of order 4.
struct Rodas5PTableau {
  static constexpr const char* name = "rodas5p";
  static constexpr const char* family = "Rosenbrock";
  static constexpr int stages = 8;
  static constexpr int order = 5;
  static constexpr Form form = Form::linear_residual;
  static constexpr int order_of_index2 = 0;
  static constexpr int order_of_index3 = 0;
  static constexpr int error_order = 5;  ///< the estimate is O(h^5)
  static constexpr int dense_degree = 4;
  static constexpr double interior_weight = 1.0;
  static constexpr double gamma = 0.21193756319429014;
  static constexpr double a[8][8] = {
      {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
      {3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
      {2.849394379747939, 0.45842242204463923, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
      {-6.954028509809101, 2.489845061869568, -10.358996098473584, 0.0, 0.0, 0.0, 0.0, 0.0},
      {2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641, 0.0, 0.0, 0.0, 0.0},
      {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946, 0.0, 0.0,
       0.0},
      {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946, 1.0, 0.0,
       0.0},
      {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946, 1.0, 1.0,
       0.0}};
  static constexpr double C[8][8] = {
      {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
      {-14.155112264123755, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
      {-17.97296035885952, -2.859693295451294, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
      {147.12150275711716, -1.41221402718213, 71.68940251302358, 0.0, 0.0, 0.0, 0.0, 0.0},
      {165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306, 0.0, 0.0, 0.0, 0.0},
      {24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471, 0.0, 0.0,
       0.0},
      {30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783, -19.097331116725623,
       -28.087943162872662, 0.0, 0.0},
      {37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047, -40.06618937091002,
       -54.66780262877968, -9.48861652309627, 0.0}};
  static constexpr double m[8] = {-7.502846399306121,
                                  2.561846144803919,
                                  -11.627539656261098,
                                  -0.18268767659942256,
                                  0.030198172008377946,
                                  1.0,
                                  1.0,
                                  1.0};
  static constexpr double e[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0};
  static constexpr double c[8] = {
      0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1.0, 1.0, 1.0};
  static constexpr double d[8] = {0.21193756319429014,
                                  -0.42387512638858027,
                                  -0.3384627126235924,
                                  1.8046452872882734,
                                  2.325825639765069,
                                  0.0,
                                  0.0,
                                  0.0};
  static constexpr double H[3][8] = {
      {25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204, 0.524948541321073,
       1.1241088310450404, 0.4272876194431874, -0.17202221070155493},
      {-9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796, 20.176138334709044,
       15.98066361424651, -6.789040303419874, -6.710236069923372},
      {11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643, -52.072871366152654,
       -59.78993625266729, -0.15582684282751913, 4.883087185713722}};
};

}  // namespace manyfold
