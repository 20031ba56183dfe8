// Renders `plumbline audit` as terminal text, Markdown and JSON.
#pragma once

#include <string>

#include "harness/audit/audit.h"
#include "harness/audit/calibrate.h"
#include "harness/report/report.h"

namespace plumbline {

std::string render_audit(const AuditReport& report, const Style& style);
std::string render_audit_markdown(const AuditReport& report);
std::string json_of_audit(const AuditReport& report);

std::string render_calibration(const CalibrationReport& report, const Style& style);
std::string render_calibration_markdown(const CalibrationReport& report);
std::string json_of_calibration(const CalibrationReport& report);

}  // namespace plumbline
