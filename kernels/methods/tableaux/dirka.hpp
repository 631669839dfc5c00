#pragma once
// Coefficients of the embedded family of I. T. Cameron, IMA J. Numer. Anal. 3 (1983), section 2.4.
#include <manyfold/form.hpp>

namespace manyfold {

/// The coefficients of section 2.4 to full precision; gamma is the root of L_3(1/gamma) = 0 in [0.394, 0.5]. The
/// printed a_32 = 0.945730236526 has a wrong digit: the order conditions give 0.945730236536.
struct CameronFamily {
  static constexpr int stages = 4;
  static constexpr double gamma = 0.4358665215084589994160195;
  static constexpr double A[4][4] = {
      {gamma, 0.0, 0.0, 0.0},
      {-0.4034942981650736032078315, gamma, 0.0, 0.0},
      {-0.3815967580446658207744631, 0.9457302365362068213584436, gamma, 0.0},
      {0.401916934763062277843956, -0.1102635230098142042436405, -0.1633864547701660724323544, gamma}};
  static constexpr double c[4] = {gamma, 0.03237222334338539620818791, 1.0, 0.5641334784915410005839805};
  /// weights[q - 1]: of order q, on the first q stages; b, d, e and f of the paper.
  static constexpr double weights[4][4] = {
      {1.0, 0.0, 0.0, 0.0},
      {1.158945191501326606380687, -0.1589451915013266063806873, 0.0, 0.0},
      {0.6610907926711172674381243, 0.1313072594616116227749566, 0.2076019478672711097869191, 0.0},
      {0.2381485358737767992754116, 0.1907847622580840524841957, 0.1557014609004533323401893,
       0.4153652409676858159002033}};
};

/// `fixed_p`: 0 for variable order, or the p of all steps.
struct CameronVariable {
  static constexpr const char* name = "dirka";
  static constexpr const char* family = "embedded SDIRK";
  static constexpr int order = 4;
  static constexpr Form form = Form::semi_explicit;
  static constexpr int order_of_index2 = 0;
  static constexpr int order_of_index3 = 0;
  static constexpr int fixed_p = 0;
};
/// Two stages: order 2.
struct CameronOrder2 {
  static constexpr const char* name = "dirka2";
  static constexpr const char* family = "embedded SDIRK";
  static constexpr int order = 2;
  static constexpr Form form = Form::semi_explicit;
  static constexpr int order_of_index2 = 0;
  static constexpr int order_of_index3 = 0;
  static constexpr int fixed_p = 1;
};
/// Three stages: order 3.
struct CameronOrder3 {
  static constexpr const char* name = "dirka3";
  static constexpr const char* family = "embedded SDIRK";
  static constexpr int order = 3;
  static constexpr Form form = Form::semi_explicit;
  static constexpr int order_of_index2 = 0;
  static constexpr int order_of_index3 = 0;
  static constexpr int fixed_p = 2;
};
/// Four stages: order 4.
struct CameronOrder4 {
  static constexpr const char* name = "dirka4";
  static constexpr const char* family = "embedded SDIRK";
  static constexpr int order = 4;
  static constexpr Form form = Form::semi_explicit;
  static constexpr int order_of_index2 = 0;
  static constexpr int order_of_index3 = 0;
  static constexpr int fixed_p = 3;
};

}  // namespace manyfold
