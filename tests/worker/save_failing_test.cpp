// Saved arrays read as the checker read them: row-major, whatever the kernel wrote.
#include "worker/save_failing.h"

#include <string>
#include <vector>

#include "catch.h"
#include "core/npy.h"
#include "fake_device.h"
#include "fake_problem.h"
#include "jobs.h"

using namespace kbench;
using namespace kbench::test;

TEST_CASE("matrices are saved row-major from either layout, vectors as they are") {
  struct Row {
    Layout layout;
    std::vector<float> expected;
  };
  for (const Row& row : {Row{Layout::row_major, {1, 2, 3, 4, 5, 6, 7, 8}},
                         Row{Layout::column_major, {1, 3, 2, 4, 5, 7, 6, 8}}}) {
    TemporaryFolder folder("save");
    FakeDevice device;
    const FakeProblem problem(device.diary);
    Case spec;
    spec.batch = 2;
    spec.n = 2;
    const std::vector<float> a = {0, 1, 0, 1, 0, 1, 0, 1}, h = {1, 2, 3, 4, 5, 6, 7, 8},
                             tau = {9, 8, 7, 6};
    const float* const outputs[] = {h.data(), tau.data()};
    const std::string base = save_failing(device, problem, spec, folder / "deep/er", "stem",
                                          a.data(), outputs, row.layout);
    CHECK(base == folder / "deep/er/stem");
    const auto read = [](const std::string& path) { return read_npy(path, read_npy_header(path)); };
    CHECK(read(base + ".A.npy") == a);
    CHECK(read(base + ".H.npy") == row.expected);
    CHECK(read(base + ".tau.npy") == tau);
  }
}
