#pragma once
// Coefficients of diagonally implicit Runge-Kutta methods, one struct per method. All are stiffly accurate, so that
// b_j = A_sj, and L-stable, with the same diagonal element gamma in every implicit stage.
//
//   A, c         Y_i = y_n + h sum_j A_ij K_j at t_n + c_i h
//   b_embedded   weights of the method that the error is estimated with: err = h sum_i (b_i - b_embedded_i) K_i
//   dense        y(t_n + theta h) = y_n + sum_i d_i(theta) (Y_i - y_n), d_i(theta) = sum_k dense_ik theta^(k+1).
//
// Weights of the stages, not of their slopes, hold for algebraic variables too, whose K_i are of the stage order only.
// With C = diag(c), g any function of the solution and q the order that is stated, they satisfy, for all theta, the
// conditions for g(Y_i) up to theta^(q-1): d.c = theta; d.Cc = theta^2, d.Ac = theta^2/2; d.CCc = theta^3,
// d.CAc = theta^3/2, d.ACc = theta^3/3, d.AAc = theta^3/6, of which those with a leading C matter to algebraic
// variables only. Where stages are left over, the weights are the smallest. They join the steps continuously.

#include "weights.hpp"

namespace manyfold {

/// Backward Euler. The embedded estimate is a divided difference of the slopes of this step and the last: see
/// `DiagonallyImplicit`. Dense output of order 1.
struct BackwardEulerTableau {
  static constexpr const char* name = "backward_euler";
  static constexpr const char* family = "SDIRK";
  static constexpr int stages = 1;
  static constexpr int order = 1;
  static constexpr int order_of_index2 = 1;
  static constexpr int order_of_index3 = 0;
  static constexpr int error_order = 2;  ///< the estimate is O(h^2)
  static constexpr int dense_degree = 1;
  static constexpr double gamma = 1.0;
  static constexpr double A[1][1] = {{gamma}};
  static constexpr double c[1] = {1.0};
  static constexpr double dense[1][1] = {{1.0}};
};

/// Alexander's SDIRK of order 2, SIAM J. Numer. Anal. 14 (1977): gamma = 1 - 1/sqrt(2). The embedded weights
/// (3/5, 2/5) are of order 1; the estimate is near 0.076 h^2 y''. Dense output of order 2.
struct Sdirk2Tableau {
  static constexpr const char* name = "sdirk2";
  static constexpr const char* family = "SDIRK";
  static constexpr int stages = 2;
  static constexpr int order = 2;
  static constexpr int order_of_index2 = 2;
  static constexpr int order_of_index3 = 0;
  static constexpr int error_order = 2;  ///< the estimate is O(h^2)
  static constexpr int dense_degree = 2;
  static constexpr double gamma = 0.2928932188134524755992;
  static constexpr double A[2][2] = {{gamma, 0.0}, {0.7071067811865475244008, gamma}};
  static constexpr double c[2] = {gamma, 1.0};
  static constexpr double b_embedded[2] = {0.6, 0.4};
  static constexpr double dense[2][2] = {{8.242640687119285146404, -8.242640687119285146403},
                                         {-1.414213562373095048802, 2.414213562373095048801}};
};

/// Alexander's strongly S-stable SDIRK of order 3, SIAM J. Numer. Anal. 14 (1977): gamma is the root near
/// 0.436 of x^3 - 3 x^2 + 3/2 x - 1/6. The embedded weights are those of order 2 on the first two stages; the estimate
/// is gamma h times the second difference of the K_i. Dense output of order 3.
struct Sdirk3Tableau {
  static constexpr const char* name = "sdirk3";
  static constexpr const char* family = "SDIRK";
  static constexpr int stages = 3;
  static constexpr int order = 3;
  static constexpr int order_of_index2 = 2;
  static constexpr int order_of_index3 = 0;
  static constexpr int error_order = 3;  ///< the estimate is O(h^3)
  static constexpr int dense_degree = 2;
  static constexpr double gamma = 0.435866521508458999416;
  static constexpr double A[3][3] = {{gamma, 0.0, 0.0},
                                     {0.282066739245770500292, gamma, 0.0},
                                     {1.208496649176010070336, -0.6443631706844690697525, gamma}};
  static constexpr double c[3] = {gamma, 0.717933260754229499708, 1.0};
  static constexpr double b_embedded[3] = {0.7726301276675510709205, 0.2273698723324489290795, 0.0};
  static constexpr double dense[3][2] = {{7.250979895056060422018, -7.25097989505606042202},
                                         {-3.866179024106814418513, 3.866179024106814418516},
                                         {0.6151991290507539964956, 0.3848008709492460035035}};
};

/// Cash's strongly S-stable SDIRK of order 4, J. Inst. Math. Appl. 24 (1979), DIRKS 4 in Cameron (1983): gamma as in
/// SDIRK3, the second stage at t_n - 0.7 h. Its twelve digits are refined here to satisfy the order conditions, with
/// c_2 and c_3 as printed. Embedded method of order 3; another of order 2 has weights on the first two stages. Dense
/// output of order 4 for differential and 3 for algebraic variables.
struct Cash4Tableau {
  static constexpr const char* name = "cash4";
  static constexpr const char* family = "SDIRK";
  static constexpr int stages = 5;
  static constexpr int order = 4;
  static constexpr int order_of_index2 = 2;
  static constexpr int order_of_index3 = 0;
  static constexpr int error_order = 4;  ///< the estimate is O(h^4)
  static constexpr int dense_degree = 3;
  static constexpr double gamma = 0.435866521508458999416;
  static constexpr double A[5][5] = {
      {gamma, 0.0, 0.0, 0.0, 0.0},
      {-1.135866521508458999416, gamma, 0.0, 0.0, 0.0},
      {1.085433306501187798234, -0.7212998280096467976498, gamma, 0.0, 0.0},
      {0.416349501578779987244, 0.1909840041795561340637, -0.118643265460115060525, gamma, 0.0},
      {0.8968696529704295827358, 0.01827252727396890379954, -0.08459003110197203803097, -0.2664186706508854479204,
       gamma}};
  static constexpr double c[5] = {gamma, -0.7, 0.8, 0.9245567618066800601988, 1.0};
  static constexpr double b_embedded[5] = {0.7766919329157524221968, 0.02974727915032039108862,
                                           -0.02674402391564096382836, 0.220304811849568150543, 0.0};
  static constexpr double dense[5][3] = {{7.852948917889538714974, -12.79641091802346115209, 4.943462000133922437119},
                                         {0.7860142280041044156588, -2.138772356724686401382, 1.352758128720581985723},
                                         {0.06842984780788681870646, -1.220369916647324912491, 1.151940068839438093785},
                                         {-0.09360487306226720935814, -2.91620942862382374697, 3.009814301686090956328},
                                         {-1.840828428739791708212, 7.752883544320883117629, -4.912055115581091409417}};
};

/// SDIRK4 of Hairer & Wanner II, Table IV.6.5: gamma = 1/4, embedded method of order 3. Dense output of order 4 for
/// differential and 3 for algebraic variables.
struct Sdirk4Tableau {
  static constexpr const char* name = "sdirk4";
  static constexpr const char* family = "SDIRK";
  static constexpr int stages = 5;
  static constexpr int order = 4;
  static constexpr int order_of_index2 = 2;
  static constexpr int order_of_index3 = 0;
  static constexpr int error_order = 4;  ///< the estimate is O(h^4)
  static constexpr int dense_degree = 3;
  static constexpr double gamma = 0.25;
  static constexpr double A[5][5] = {
      {gamma, 0.0, 0.0, 0.0, 0.0},
      {0.5, gamma, 0.0, 0.0, 0.0},
      {0.34, -0.04, gamma, 0.0, 0.0},
      {0.2727941176470588235294, -0.05036764705882352941176, 0.02757352941176470588235, gamma, 0.0},
      {1.041666666666666666667, -1.020833333333333333333, 7.8125, -7.083333333333333333333, gamma}};
  static constexpr double c[5] = {gamma, 0.75, 0.55, 0.5, 1.0};
  static constexpr double b_embedded[5] = {1.229166666666666666667, -0.1770833333333333333333, 7.03125,
                                           -7.083333333333333333333, 0.0};
  static constexpr double dense[5][3] = {{15.24999999999999999999, -33.24999999999999999996, 17.99999999999999999998},
                                         {1.375000000000000000026, -16.37500000000000000008, 15.00000000000000000003},
                                         {34.37499999999999999981, -9.374999999999999999407, -25.00000000000000000027},
                                         {-42.49999999999999999982, 42.49999999999999999944, 0.0},
                                         {-1.5, 4.500000000000000000001, -2.000000000000000000001}};
};

/// TR-BDF2, Bank et al., IEEE Trans. CAD 4 (1985), with the embedded method of order 3 of Hosea & Shampine, Appl.
/// Numer. Math. 20 (1996): gamma = 1 - 1/sqrt(2). Dense output of order 2: the parabola through y_n, Y_2 and y_(n+1).
struct Trbdf2Tableau {
  static constexpr const char* name = "trbdf2";
  static constexpr const char* family = "ESDIRK";
  static constexpr int stages = 3;
  static constexpr int order = 2;
  static constexpr int order_of_index2 = 2;
  static constexpr int order_of_index3 = 0;
  static constexpr int error_order = 3;  ///< the estimate is O(h^3)
  static constexpr int dense_degree = 2;
  static constexpr double gamma = 0.2928932188134524755992;
  static constexpr double A[3][3] = {
      {0.0, 0.0, 0.0}, {gamma, gamma, 0.0}, {0.3535533905932737622004, 0.3535533905932737622004, gamma}};
  static constexpr double c[3] = {0.0, 0.5857864376269049511983, 1.0};
  static constexpr double b_embedded[3] = {0.2154822031355754125999, 0.6868867239266070955338,
                                           0.09763107293781749186639};
  static constexpr double dense[3][2] = {{0.0, 0.0},
                                         {4.121320343559642573203, -4.121320343559642573203},
                                         {-1.414213562373095048802, 2.414213562373095048802}};
};

/// Kvaerno's 4(3), BIT 44 (2004), in the L-stable form that advances the solution of order 4: gamma is the root near
/// 0.5728. (Several codes carry gamma = 0.4359, which belongs to the form that advances the solution of order 3 and has
/// R(infinity) = 0.72 here.) Dense output of order 4 for differential and 3 for algebraic variables.
struct Kvaerno43Tableau {
  static constexpr const char* name = "kvaerno43";
  static constexpr const char* family = "ESDIRK";
  static constexpr int stages = 5;
  static constexpr int order = 4;
  static constexpr int order_of_index2 = 4;
  static constexpr int order_of_index3 = 0;
  static constexpr int error_order = 4;  ///< the estimate is O(h^4)
  static constexpr int dense_degree = 3;
  static constexpr double gamma = 0.5728160624821348548352;
  static constexpr double A[5][5] = {
      {0.0, 0.0, 0.0, 0.0, 0.0},
      {gamma, gamma, 0.0, 0.0, 0.0},
      {0.1672354620272107502802, -0.1429465368570341130995, gamma, 0.0, 0.0},
      {0.2626032902526958173989, -0.3119043274205631532087, 0.4764849746857324809746, gamma, 0.0},
      {0.1972165483128349955748, 0.1768437839063721860241, 0.815442181350838445708, -0.7623185760521804821421, gamma}};
  static constexpr double c[5] = {0.0, 1.14563212496426970967, 0.5971049876523114920159, 1.0, 1.0};
  static constexpr auto b_embedded = row<3>(A);  ///< stage 4
  static constexpr double dense[5][3] = {
      {0.0, 0.0, 0.0},
      {1.745761101158346577433, -3.115157896598573500015, 1.369396795440226922582},
      {5.367505984557529136016, -6.317211777462526059559, 0.9497057929049969235431},
      {-3.102482297316465736343, 7.670431810529123445202, -4.567949513212657708858},
      {-1.102482297316465736361, -0.3295681894708765547626, 2.432050486787342291123}};
};

/// Kvaerno's 5(4), BIT 44 (2004): gamma = 0.26. Dense output of order 4.
struct Kvaerno54Tableau {
  static constexpr const char* name = "kvaerno54";
  static constexpr const char* family = "ESDIRK";
  static constexpr int stages = 7;
  static constexpr int order = 5;
  static constexpr int order_of_index2 = 3;
  static constexpr int order_of_index3 = 0;
  static constexpr int error_order = 5;  ///< the estimate is O(h^5)
  static constexpr int dense_degree = 3;
  static constexpr double gamma = 0.26;
  static constexpr double A[7][7] = {
      {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
      {0.26, gamma, 0.0, 0.0, 0.0, 0.0, 0.0},
      {0.13, 0.8403332099679080963171, gamma, 0.0, 0.0, 0.0, 0.0},
      {0.2237196147832050559163, 0.4767553231979969983279, -0.06470895363112615133816, gamma, 0.0, 0.0, 0.0},
      {0.1664856432324832152535, 0.1045001884159172041151, 0.03631482272098715161652, -0.1309070445107399857072, gamma,
       0.0, 0.0},
      {0.1385564023126822495055, 0.0, -0.04245337201752043098884, 0.02446657898003141965964, 0.6194303907248067618237,
       gamma, 0.0},
      {0.1365975117764029144063, 0.0, -0.05496908796538376712488, -0.041186267283210468683, 0.6299330489901640319161,
       0.06962479448202728948549, gamma}};
  static constexpr double c[7] = {0.0, 0.52, 1.230333209967908096317, 0.895765984350075902906, 0.436393609858647585278,
                                  1.0, 1.0};
  static constexpr auto b_embedded = row<5>(A);  ///< stage 6
  static constexpr double dense[7][3] = {
      {0.0, 0.0, 0.0},
      {0.0, 0.0, 0.0},
      {1.632637576827055576787, -5.158916572955026230749, 3.526278996127970653961},
      {-1.610198846468857656576, 6.427402702875822200893, -4.817203856406964544317},
      {6.558174432706358903499, -12.44983609081889683578, 5.89166165811253793228},
      {-2.214136145338370837632, 7.011383296012714849129, -4.797247150674344011497},
      {-0.2141361453383708376315, -0.9886167039872851508703, 2.202752849325655988501}};
};

/// ESDIRK4(3)6L[2]SA of Kennedy & Carpenter, NASA/TM-2016-219173, Table 16: order 4 with an embedded method of order 3,
/// stage order 2, L-stable. Dense output of order 4.
struct Esdirk43Tableau {
  static constexpr const char* name = "esdirk43";
  static constexpr const char* family = "ESDIRK";
  static constexpr int stages = 6;
  static constexpr int order = 4;
  static constexpr int order_of_index2 = 3;
  static constexpr int order_of_index3 = 0;
  static constexpr int error_order = 4;  ///< the estimate is O(h^4)
  static constexpr int dense_degree = 3;
  static constexpr double gamma = 0.25;
  static constexpr double A[6][6] = {
      {0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
      {0.25, gamma, 0.0, 0.0, 0.0, 0.0},
      {-0.05177669529663688110021, -0.05177669529663688110021, gamma, 0.0, 0.0, 0.0},
      {-0.07655460838455727096268, -0.07655460838455727096268, 0.5281092167691145419254, gamma, 0.0, 0.0},
      {-0.7274063478261298469328, -0.7274063478261298469328, 1.584995061740679345833, 0.6598176339115803480321, gamma,
       0.0},
      {-0.01558763503571650073772, -0.01558763503571650073772, 0.3876576709132033312894, 0.5017726195721631659377,
       -0.1082550204139334957517, gamma}};
  static constexpr double c[6] = {0.0, 0.5, 0.1464466094067262377996, 0.625, 1.04, 1.0};
  static constexpr double b_embedded[6] = {-0.09651334216818033766776, -0.09651334216818033766776,
                                           0.522819950996234240215,    0.520567864622188495193,
                                           -0.08255805440762121384324, 0.2321969231255591537708};
  static constexpr double dense[6][3] = {{0.0, 0.0, 0.0},
                                         {4.488565905253413714862, -13.48035420605204140958, 8.991788300798627694714},
                                         {7.630496789349135814206, -18.24220984585710872085, 10.61171305650797290665},
                                         {-4.299961388861296771188, 18.68487839642194524217, -14.38491700756064847098},
                                         {1.638224145856465739039, -6.516740578936430922303, 4.878516433079965183269},
                                         {-1.378020579168212252783, 4.511048087367964738098, -2.13302750819975248532}};
};

/// ESDIRK5(4)7L[2]SA2 of Kennedy & Carpenter, Appl. Numer. Math. 146 (2019), Table 8: order 5 with an embedded method
/// of order 4, stage order 2, L-stable. Dense output of order 5, of algebraic variables of order 4: the weights are
/// those that d.c, d.Cc, d.CCc, d.ACc, d.ACCc = theta^4/4 and d.AACc = theta^4/12 leave.
struct Esdirk54Tableau {
  static constexpr const char* name = "esdirk54";
  static constexpr const char* family = "ESDIRK";
  static constexpr int stages = 7;
  static constexpr int order = 5;
  static constexpr int order_of_index2 = 3;
  static constexpr int order_of_index3 = 0;
  static constexpr int error_order = 5;  ///< the estimate is O(h^5)
  static constexpr int dense_degree = 4;
  static constexpr double gamma = 0.184;
  static constexpr double A[7][7] = {
      {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
      {0.184, gamma, 0.0, 0.0, 0.0, 0.0, 0.0},
      {0.2221076477383247444898, 0.2221076477383247444898, gamma, 0.0, 0.0, 0.0, 0.0},
      {-0.01404947538192628193212, -0.01404947538192628193212, -0.01709085093586415001678, gamma, 0.0, 0.0, 0.0},
      {-0.4083885925493146502713, -0.4083885925493146502713, 0.1664639982136296320211, 1.166271806289574396462, gamma,
       0.0, 0.0},
      {-0.5392907235588113294469, -0.5392907235588113294469, -0.242234428845425020396, 1.488880611122514626705,
       0.5563122281913183928986, gamma, 0.0},
      {-0.03946606910974025932549, -0.03946606910974025932549, 0.2726364902502426817019, 0.432165172520288213394,
       0.3524160862328891361236, -0.1622856107839395125684, gamma}};
  static constexpr double c[7] = {
      0.0, 0.368, 0.6282152954766494889795, 0.138810198300283286119, 0.6999586194045747279403, 0.9083769633507853403141,
      1.0};
  static constexpr double b_embedded[7] = {
      -0.08068946656664743266534, -0.08068946656664743266534, 0.1828996846134355431843, 0.5170138737662310023784,
      0.4265997313024543198396,   -0.1043268579671349722212,  0.1391925014183089721495};
  static constexpr double dense[7][4] = {
      {0.0, 0.0, 0.0, 0.0},
      {15.5261669929354755389, -106.9731071555922874737, 191.3152957417717748436, -99.86835557911496290886},
      {-7.241236488388869466184, 59.17396141360322026545, -108.8970817009371836102, 56.96435677572283281095},
      {-5.692339929979706742786, 84.76467216013145587744, -183.2417827300665442822, 104.1694504999147951476},
      {-1.037969456205168760493, -3.064529473164868046378, 21.44821705699511007578, -17.34571812762507326891},
      {-0.2556884313075919735054, 6.840549441635461932669, -19.95304680552780356413, 13.36818579519993360496},
      {1.584378049586961534438, -13.64283888240161146218, 26.55463538888252802586, -13.49617455606787809813}};
};

}  // namespace manyfold
