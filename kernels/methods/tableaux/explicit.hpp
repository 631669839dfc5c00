#pragma once
// Coefficients of explicit Runge-Kutta methods whose last stage is the solution:
//
//   A, c         Y_i = y_n + h sum_(j<i) A_ij K_j at t_n + c_i h; y_(n+1) = Y_s
//   b_embedded   weights of the method that the error is estimated with: err = h sum_i (A_si - b_embedded_i) K_i
//   dense        y(t_n + theta h) = y_n + h sum_i K_i sum_k dense_ik theta^(k+1)

namespace manyfold {

/// The classical method of order 4. Its slope at the end of the step serves an embedded method of order 3, in which K_5
/// takes the place of K_4: the estimate is h/6 (K_4 - K_5). That is blind for what y' does not owe to y, which the
/// residual of the dense output within the step shows: `looks_within`. `dense`: y(t_n + theta h) = y_n + h sum_i K_i
/// sum_k dense_ik theta^(k+1), the cubic Hermite polynomial.
struct Rk4Tableau {
  static constexpr const char* name = "rk4";
  static constexpr const char* family = "explicit Runge-Kutta";
  static constexpr int stages = 5;
  static constexpr int order = 4;
  static constexpr bool takes_algebraic = false;
  static constexpr int order_of_index2 = 0;
  static constexpr int order_of_index3 = 0;
  static constexpr int error_order = 4;  ///< the estimate is O(h^4)
  static constexpr int dense_degree = 3;
  static constexpr double A[5][5] = {{0.0, 0.0, 0.0, 0.0, 0.0},
                                     {0.5, 0.0, 0.0, 0.0, 0.0},
                                     {0.0, 0.5, 0.0, 0.0, 0.0},
                                     {0.0, 0.0, 1.0, 0.0, 0.0},
                                     {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6, 0.0}};
  static constexpr double c[5] = {0.0, 0.5, 0.5, 1.0, 1.0};
  static constexpr bool looks_within = true;
  static constexpr double b_embedded[5] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 0.0, 1.0 / 6};
  static constexpr double dense[5][3] = {
      {1.0, -1.5, 2.0 / 3}, {0.0, 1.0, -2.0 / 3}, {0.0, 1.0, -2.0 / 3}, {0.0, 0.5, -1.0 / 3}, {0.0, -1.0, 1.0}};
};

/// Dormand & Prince, J. Comput. Appl. Math. 6 (1980): order 5 with an embedded method of order 4; dense output of order
/// 4 by L. F. Shampine, Math. Comp. 46 (1986).
struct Dopri54Tableau {
  static constexpr const char* name = "dopri54";
  static constexpr const char* family = "explicit Runge-Kutta";
  static constexpr int stages = 7;
  static constexpr int order = 5;
  static constexpr bool takes_algebraic = false;
  static constexpr int order_of_index2 = 0;
  static constexpr int order_of_index3 = 0;
  static constexpr int error_order = 5;  ///< the estimate is O(h^5)
  static constexpr int dense_degree = 4;
  static constexpr double A[7][7] = {
      {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
      {1.0 / 5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
      {3.0 / 40, 9.0 / 40, 0.0, 0.0, 0.0, 0.0, 0.0},
      {44.0 / 45, -56.0 / 15, 32.0 / 9, 0.0, 0.0, 0.0, 0.0},
      {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729, 0.0, 0.0, 0.0},
      {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656, 0.0, 0.0},
      {35.0 / 384, 0.0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84, 0.0}};
  static constexpr double c[7] = {0.0, 0.2, 0.3, 0.8, 8.0 / 9, 1.0, 1.0};
  static constexpr bool looks_within = false;
  static constexpr double b_embedded[7] = {5179.0 / 57600,    0.0,          7571.0 / 16695, 393.0 / 640,
                                           -92097.0 / 339200, 187.0 / 2100, 1.0 / 40};
  static constexpr double dense[7][4] = {
      {1.0, -8048581381.0 / 2820520608, 8663915743.0 / 2820520608, -12715105075.0 / 11282082432},
      {0.0, 0.0, 0.0, 0.0},
      {0.0, 131558114200.0 / 32700410799, -68118460800.0 / 10900136933, 87487479700.0 / 32700410799},
      {0.0, -1754552775.0 / 470086768, 14199869525.0 / 1410260304, -10690763975.0 / 1880347072},
      {0.0, 127303824393.0 / 49829197408, -318862633887.0 / 49829197408, 701980252875.0 / 199316789632},
      {0.0, -282668133.0 / 205662961, 2019193451.0 / 616988883, -1453857185.0 / 822651844},
      {0.0, 40617522.0 / 29380423, -110615467.0 / 29380423, 69997945.0 / 29380423}};
};

}  // namespace manyfold
