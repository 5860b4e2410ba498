// RUN: %cc -ffp-contract=off %s -o %t %libs
// RUN: %t
// lgamma, digamma and polygamma against values of 60-digit arithmetic, their poles and limits; integer powers.
#include "expect.h"
#include "internal.h"

typedef struct Known {
  double x, value;
} Known;

static const Known digammas[] = {
    {1e-300, -9.9999999999999997e+299},
    {1e-08, -1.0000000057721565e+8},
    {0.1, -10.423754940411076},
    {0.25, -4.2274535333762654},
    {0.5, -1.9635100260214235},
    {0.75, -1.0858608797864722},
    {1.0, -0.57721566490153286},
    {1.25, -0.22745353337626541},
    {1.46, -0.0015805619870834521},
    {1.5, 0.036489973978576521},
    {1.75, 0.24747245354686116},
    {2.0, 0.42278433509846714},
    {2.5, 0.70315664064524319},
    {3.0, 0.92278433509846714},
    {3.5, 1.1031566406452432},
    {5.25, 1.5599773364075456},
    {7.75, 1.9817915626943456},
    {8.0, 2.01564147795561},
    {9.5, 2.1977378764029495},
    {20.5, 2.9958363947076466},
    {100.25, 4.6026712432747126},
    {100000.0, 11.512920464961895},
    {1000000000000000.0, 34.538776394910685},
    {1e+300, 690.77552789821371},
    {-0.25, 2.9141391202135278},
    {-0.5, 0.036489973978576521},
    {-0.75, -2.8941202000429321},
    {-1.5, 0.70315664064524319},
    {-3.75, -1.6923885983113303},
    {-10.5, 2.3982391295357816},
    {-100.25, 7.7542389592086454},
    {1.4616321449683622, -9.2412655217294275e-17},
};

static const Known lgammas[] = {
    {1e-300, 690.77552789821371},      {1e-05, 11.512919692895826},  {0.5, 0.57236494292470009},
    {1.5, -0.12078223763524522},       {2.5, 0.28468287047291916},   {3.0, 0.69314718055994531},
    {10.25, 13.368023671476046},       {100.5, 361.43554046777762},  {1000000.0, 1.2815504569147612e+7},
    {1e+300, 6.8977552789821374e+302}, {-0.5, 1.2655121234846454},   {-1.5, 0.86004701537648101},
    {-2.25, 0.55550154502064747},      {-30.5, -75.226467981933374},
};

static const struct KnownOrder {
  int64_t order;
  double x, value;
} polygammas[] = {
    {1, 0.001, 1.0000016425331958e+6},
    {1, 0.25, 17.197329154507111},
    {1, 0.5, 4.9348022005446793},
    {1, 1.0, 1.6449340668482264},
    {1, 2.5, 0.49035775610023486},
    {1, 7.75, 0.13771379144765566},
    {1, 20.5, 0.049989592429960993},
    {1, 1000.0, 0.0010005001666666333},
    {1, 10000000000.0, 1.00000000005e-10},
    {1, -0.25, 18.541879647671606},
    {1, -0.5, 8.9348022005446793},
    {1, -3.75, 19.504980060599575},
    {1, -10.5, 9.7787577398148124},
    {2, 0.001, -2.0000000023976322e+9},
    {2, 0.25, -129.32773993753692},
    {2, 0.5, -16.82879664423432},
    {2, 1.0, -2.4041138063191886},
    {2, 2.5, -0.2362040516417274},
    {2, 7.75, -0.018935466672670957},
    {2, 20.5, -0.0024984397723677341},
    {2, 1000.0, -1.0010004999998333e-6},
    {2, 10000000000.0, -1.0000000001e-20},
    {2, -0.25, 122.69736678366236},
    {2, -0.5, -0.82879664423432},
    {2, -3.75, -124.07972713378925},
    {2, -10.5, -0.0082474690506522171},
    {3, 0.001, 6.0000000000064686e+12},
    {3, 0.25, 1538.7821440091884},
    {3, 0.5, 97.409091034002437},
    {3, 1.0, 6.4939394022668291},
    {3, 2.5, 0.22390584881725205},
    {3, 7.75, 0.0051991522947022234},
    {3, 20.5, 0.00024968818108537709},
    {3, 1000.0, 2.003001999999e-9},
    {3, 10000000000.0, 2.0000000003e-30},
    {3, -0.25, 1555.7633125348506},
    {3, -0.5, 193.40909103400244},
    {3, -3.75, 1558.5200920240343},
    {3, -10.5, 194.81668560325261},
    {5, 0.001, 1.1999999999999999e+20},
    {5, 0.25, 4.9155251376768129e+5},
    {5, 0.5, 7691.1135486024355},
    {5, 1.0, 122.0811674381339},
    {5, 2.5, 0.57856917856718348},
    {5, 7.75, 0.0011705313492977657},
    {5, 20.5, 7.4766576402396594e-6},
    {5, 1000.0, 2.4060059999944e-14},
    {5, 10000000000.0, 2.4000000006e-49},
    {5, -0.25, 4.9219875334287458e+5},
    {5, -0.5, 15371.113548602435},
    {5, -3.75, 4.9223125090337614e+5},
    {5, -10.5, 15382.226949702844},
    {10, 0.001, -3.6287999999999992e+39},
    {10, 0.25, -1.522029066740555e+13},
    {10, 0.5, -7.431824508858769e+9},
    {10, 1.0, -3.6305933116066287e+6},
    {10, 2.5, -156.22959659323299},
    {10, 7.75, -0.00083177095120682735},
    {10, 20.5, -3.5036001352094346e-8},
    {10, 1000.0, -3.646977263913514e-25},
    {10, 10000000000.0, -3.6288000018144e-95},
    {10, -0.25, 1.5220204428462791e+13},
    {10, -0.5, -42108.858768975492},
    {10, -3.75, -1.5220204740668491e+13},
    {10, -10.5, -1.3479713180436912e-5},
    {30, 0.001, -2.6525285981219089e+125},
    {30, 0.25, -1.2232629049437615e+51},
    {30, 0.5, -5.6962617903191757e+41},
    {30, 1.0, -2.6525285993570948e+32},
    {30, 2.5, -1.2232990235199245e+20},
    {30, 7.75, -73391.175693407372},
    {30, 20.5, -7.4937952797063385e-9},
    {30, 1000.0, -8.9750736481404906e-60},
    {30, 10000000000.0, -8.841762007002345e-270},
    {30, -0.25, 1.2232629049437595e+51},
    {30, -0.5, -9.2221270661620558e+26},
    {30, -3.75, -1.2232629049437595e+51},
    {30, -10.5, -0.3773484763042528},
    {100, 0.25, -5.9987778449433916e+218},
    {100, 0.5, -2.3661006604908972e+188},
    {100, 1.0, -9.3326215443944153e+157},
    {100, 2.5, -5.9987778449434021e+117},
    {100, 7.75, -1.4142746739665545e+68},
    {100, 20.5, -3.0649430335763357e+25},
    {100, 1000.0, -9.8071062030352941e-145},
    {100, -0.25, 5.9987778449433916e+218},
    {100, -0.5, -1.5303349262176004e+140},
    {100, -3.75, -5.9987778449433916e+218},
    {100, -10.5, -6.9122173544603241e+50},
    {101, 0.25, 2.4235062493571302e+221},
    {101, 0.5, 4.7795233341916123e+190},
    {101, 1.0, 9.4259477598383594e+159},
    {101, 2.5, 2.4235062493571332e+119},
    {101, 7.75, 1.843118252026932e+69},
    {101, 20.5, 1.5094665692240792e+26},
    {101, 1000.0, 9.811929557942155e-146},
    {101, -0.25, 2.4235062493571302e+221},
    {101, -0.5, 9.5590466683832245e+190},
    {101, -3.75, 2.4235062493571302e+221},
    {101, -10.5, 9.5590466683832245e+190},
    {150, 1.0, -5.7133839564458546e+262},
    {150, 2.5, -4.6553474663569881e+202},
    {150, 7.75, -2.9671283781091965e+128},
    {150, 20.5, -4.8126857652764787e+64},
    {150, 1000.0, -4.1017783919253753e-190},
    {150, -0.5, -1.4693095234403324e+236},
    {150, -10.5, -3.9041005626297659e+102},
    {200, 2.5, -8.1460467274200464e+294},
    {200, 7.75, -1.403609943775819e+196},
    {200, 20.5, -1.7155081358954285e+111},
    {200, 1000.0, -4.3508192705971018e-228},
    {200, -10.5, -4.9730491537030384e+161},
};

static void close_to(const char *name, int64_t order, double x, double got, double wanted, double ulps) {
  double allowed = ulps * (nextafter(fabs(wanted), INFINITY) - fabs(wanted));
  if (!(fabs(got - wanted) <= allowed)) {
    fprintf(stderr, "%s(%d, %.17g) is %.17g, not %.17g: %g ULP\n", name, (int)order, x, got, wanted,
            fabs(got - wanted) / allowed * ulps);
    exit(1);
  }
}

static void known_values(void) {
  for (size_t i = 0; i < sizeof digammas / sizeof *digammas; i++) {
    Known known = digammas[i];
    // Beside the zeros of negative arguments the terms of the reflection are larger than what is left of them.
    double ulps = known.x < 0 ? 16 : 2.5;
    close_to("digamma", 0, known.x, gradc_rt_digamma(known.x), known.value, ulps);
    close_to("polygamma", 0, known.x, gradc_rt_polygamma(0, known.x), known.value, ulps);
    if (known.x > -3 && fabs(known.x) < 1e30 && fabs(known.x) > 1e-30 && (double)(float)known.x == known.x)
      EXPECT(fabs(gradc_rt_digamma_f32((float)known.x) - known.value) <= 1e-7 * fabs(known.value));
  }
  for (size_t i = 0; i < sizeof lgammas / sizeof *lgammas; i++) {
    close_to("lgamma", 0, lgammas[i].x, gradc_rt_lgamma(lgammas[i].x), lgammas[i].value, 8);
    if (fabs(lgammas[i].x) < 1e30 && fabs(lgammas[i].x) > 0.1)
      EXPECT(fabs(gradc_rt_lgamma_f32((float)lgammas[i].x) - lgammas[i].value) <= 1e-7 * fabs(lgammas[i].value));
  }
  for (size_t i = 0; i < sizeof polygammas / sizeof *polygammas; i++) {
    struct KnownOrder known = polygammas[i];
    double ulps = known.x < 0 ? 16 + (double)known.order : 5 + (double)known.order / 3;
    close_to("polygamma", known.order, known.x, gradc_rt_polygamma(known.order, known.x), known.value, ulps);
  }
  EXPECT(fabs(gradc_rt_polygamma_f32(1, 2.5f) - 0.49035775610023486) < 1e-7);
}

static void poles_and_limits(void) {
  EXPECT(gradc_rt_digamma(0.0) == -INFINITY && gradc_rt_digamma(-0.0) == INFINITY);
  EXPECT(isnan(gradc_rt_digamma(-1)) && isnan(gradc_rt_digamma(-1e300)) && isnan(gradc_rt_digamma(-INFINITY)));
  EXPECT(gradc_rt_digamma(INFINITY) == INFINITY && isnan(gradc_rt_digamma(NAN)));
  EXPECT(gradc_rt_polygamma(1, 0.0) == INFINITY && gradc_rt_polygamma(1, -0.0) == INFINITY);
  EXPECT(gradc_rt_polygamma(1, -3) == INFINITY && gradc_rt_polygamma(201, -3) == INFINITY);
  EXPECT(gradc_rt_polygamma(2, 0.0) == -INFINITY && gradc_rt_polygamma(2, -0.0) == INFINITY);
  EXPECT(isnan(gradc_rt_polygamma(2, -3)) && isnan(gradc_rt_polygamma(2, -1e300)));
  EXPECT(gradc_rt_polygamma(1, INFINITY) == 0 && gradc_rt_polygamma(2, INFINITY) == 0);
  EXPECT(isnan(gradc_rt_polygamma(1, -INFINITY)) && isnan(gradc_rt_polygamma(1, NAN)));
  EXPECT(isnan(gradc_rt_polygamma(-1, 2)));
  EXPECT(gradc_rt_polygamma(200, 1e-3) == -INFINITY && gradc_rt_polygamma(INT64_MAX, 2) == INFINITY);
  EXPECT(gradc_rt_polygamma(3, 1e300) == 0);
  EXPECT(gradc_rt_polygamma(200, -0.5) < 0 && isfinite(gradc_rt_polygamma(160, -10.5)));
  EXPECT(gradc_rt_lgamma(0.0) == INFINITY && gradc_rt_lgamma(-2) == INFINITY && gradc_rt_lgamma(INFINITY) == INFINITY);
  EXPECT(gradc_rt_lgamma(1) == 0 && gradc_rt_lgamma(2) == 0);
}

static void integer_powers(void) {
  EXPECT(gradc_rt_power_i64(3, 0) == 1 && gradc_rt_power_i64(0, 0) == 1 && gradc_rt_power_i64(0, 5) == 0);
  EXPECT(gradc_rt_power_i64(3, 13) == 1594323 && gradc_rt_power_i64(-3, 3) == -27);
  EXPECT(gradc_rt_power_i64(2, 62) == (int64_t)1 << 62 && gradc_rt_power_i64(2, 63) == INT64_MIN);
  EXPECT(gradc_rt_power_i64(2, 64) == 0 && gradc_rt_power_i64(10, 18) == 1000000000000000000);
  EXPECT(gradc_rt_power_i64(1, -7) == 1 && gradc_rt_power_i64(-1, -7) == -1 && gradc_rt_power_i64(-1, -8) == 1);
  EXPECT(gradc_rt_power_i64(2, -1) == 0 && gradc_rt_power_i64(0, -1) == 0 && gradc_rt_power_i64(-1, INT64_MIN) == 1);
  EXPECT(gradc_rt_power_i64(-1, INT64_MAX) == -1);
  EXPECT(gradc_rt_power_i32(3, 13) == 1594323 && gradc_rt_power_i32(2, 31) == INT32_MIN);
  EXPECT(gradc_rt_power_i32(-2, 31) == INT32_MIN && gradc_rt_power_i32(2, 32) == 0);
}

int main(void) {
  known_values();
  poles_and_limits();
  integer_powers();
  return 0;
}
