// Records of runs for the tests of what is made from results documents.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/distribution.h"
#include "runner/record.h"
#include "runner/report.h"
#include "runner/results_file.h"

namespace kbench::test {

inline DeviceInfo some_gpu() {
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  device.name = "NVIDIA H200";
  device.uuid = "GPU-1";
  device.driver = "580.1";
  device.clock = "cuda_event";
  device.flush_bytes = 268435456;
  return device;
}

/// `count` samples that go around `middle_ns` by up to 0.1 %.
inline std::vector<double> samples_around(double middle_ns, int count = 42) {
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) samples.push_back(middle_ns * (1 + 0.0001 * (i * 8 % 21 - 10)));
  return samples;
}

inline CaseRecord measured_case(std::int64_t n, std::vector<double> samples_ns) {
  CaseRecord row;
  row.spec.problem = "qr_v2";
  row.spec.batch = 20;
  row.spec.n = n;
  row.spec.cond = 1;
  row.spec.seed = 43214;
  row.spec.kind = "dense";
  row.spec.spec = "batch: 20; n: " + std::to_string(n) + "; cond: 1; seed: 43214";
  row.kernel.name = "blocked";
  row.kernel.problem = "qr_v2";
  row.ended = row.passed = true;
  row.fresh_inputs = "on";
  row.flops = 1e9;
  row.bytes = 1e7;
  row.reply.passed = true;
  row.reply.message = "fine";
  row.reply.residuals = {{"scaled_factor_residual", 0.25, 20},
                         {"scaled_triangular_residual", 0.125, 0},
                         {"scaled_orthogonality_residual", 1.5, 100}};
  row.reply.worst_of_gate = 0.015;
  row.reply.worst_gate = "orthogonality";
  row.reply.samples_ns = std::move(samples_ns);
  row.reply.calls_per_repeat = 50;
  row.reply.stop = StopReason::precise;
  row.reply.floor_ns = 125;
  row.reply.floor_reason = "half of an empty launch";
  row.reply.copy_bytes_per_s = 4e12;
  row.reply.tensor_flops_per_s = 990e12;
  row.summary = summarize(row.reply.samples_ns);
  row.distribution = describe_distribution(row.reply.samples_ns);
  return row;
}

inline CaseRecord failed_case(std::int64_t n, const std::string& error) {
  CaseRecord row = measured_case(n, {1000});
  row.passed = false;
  row.error = error;
  row.summary.reset();
  row.distribution.reset();
  row.reply = Reply{};
  return row;
}

inline RunRecord some_run(std::vector<CaseRecord> cases) {
  RunRecord record;
  record.mode = find_mode("benchmark");
  record.device = some_gpu();
  record.machine.hostname = "bench";
  record.machine.cpu = "EPYC";
  record.machine.cores = 16;
  record.started = "2026-11-30T20:15:19Z";
  record.command_line = {"kbench", "benchmark", "shape.txt"};
  record.cases = std::move(cases);
  record.finished = true;
  return record;
}

inline ResultsFile read_back(const RunRecord& record, const std::string& path = "results.json") {
  return parse_results(json_document(record), path);
}

}  // namespace kbench::test
