// Converts messages to and from JSON where a macro cannot, and refuses numbers that do not fit.
#include "harness/provider/protocol.h"

#include <algorithm>

#include "harness/provider/abi_spec_fields.h"

namespace {

template <std::size_t n>
void copy_text(const std::string& text, char (&field)[n]) {
  const std::size_t size = std::min(text.size(), n - 1);
  std::copy_n(text.data(), size, field);
  field[size] = '\0';
}

}  // namespace

void to_json(nlohmann::json& json, const plumbline_rounding_spec& spec) {
  plumbline::for_each_abi_spec_field(
      [&](const char* name, auto, auto of) { json[name] = of(spec); });
}

void from_json(const nlohmann::json& json, plumbline_rounding_spec& spec) {
  plumbline::for_each_abi_spec_field(
      [&](const char* name, auto, auto of) { json.at(name).get_to(of(spec)); });
}

void to_json(nlohmann::json& json, const plumbline_description& d) {
  json["launched"] = d.launched;
  json["build_id"] = d.build_id;
  json["tensor_cores"] = d.tensor_cores;
  json["padding_policy"] = d.padding_policy;
  json["spec"] = d.spec;
  json["promises"] = d.promises;
  json["registers_per_thread"] = d.registers_per_thread;
  json["spill_bytes_per_thread"] = d.spill_bytes_per_thread;
  json["shared_memory_bytes"] = d.shared_memory_bytes;
  json["stack_bytes_per_thread"] = d.stack_bytes_per_thread;
  json["device_arch"] = d.device_arch;
}

void from_json(const nlohmann::json& json, plumbline_description& d) {
  d = {};
  d.struct_size = sizeof d;
  copy_text(json.at("launched"), d.launched);
  copy_text(json.at("build_id"), d.build_id);
  copy_text(json.at("tensor_cores"), d.tensor_cores);
  json.at("padding_policy").get_to(d.padding_policy);
  json.at("spec").get_to(d.spec);
  json.at("promises").get_to(d.promises);
  d.spec.struct_size = sizeof d.spec;
  d.promises.struct_size = sizeof d.promises;
  json.at("registers_per_thread").get_to(d.registers_per_thread);
  json.at("spill_bytes_per_thread").get_to(d.spill_bytes_per_thread);
  json.at("shared_memory_bytes").get_to(d.shared_memory_bytes);
  json.at("stack_bytes_per_thread").get_to(d.stack_bytes_per_thread);
  copy_text(json.value("device_arch", ""), d.device_arch);
}

namespace plumbline::protocol {

namespace {

// A description that is none costs the case, and not the worker that sent it.
void read_description(const nlohmann::json& json, RunReply& r) {
  try {
    if (!json.is_null()) r.description = read_message<plumbline_description>(json);
  } catch (const nlohmann::json::exception& e) {
    r.description_error = e.what();
  }
}

}  // namespace

void refuse_fractions(const nlohmann::json& json, const nlohmann::json& form) {
  if (form.is_number_integer() && json.is_number_float()) {
    throw nlohmann::json::type_error::create(302, "a whole number is expected, not " + json.dump(),
                                             &json);
  }
  if (form.is_object() && json.is_object()) {
    for (const auto& [key, member] : form.items()) {
      if (const auto found = json.find(key); found != json.end()) refuse_fractions(*found, member);
    }
  }
  if (form.is_array() && !form.empty() && json.is_array()) {
    for (const nlohmann::json& item : json) refuse_fractions(item, form.front());
  }
}

void to_json(nlohmann::json& json, const HelloReply& r) {
  json = {{"reply", r.reply},       {"id", r.id},
          {"error", r.error},       {"remedy", r.remedy},
          {"protocol", r.protocol}, {"abi", r.abi},
          {"provider", r.provider}, {"version", r.version},
          {"kernels", r.kernels},   {"tensor_cores", r.tensor_cores},
          {"devices", r.devices},   {"kernel_devices", r.kernel_devices}};
}

void from_json(const nlohmann::json& json, HelloReply& r) {
  json.at("reply").get_to(r.reply);
  json.at("id").get_to(r.id);
  json.at("error").get_to(r.error);
  json.at("remedy").get_to(r.remedy);
  json.at("protocol").get_to(r.protocol);
  json.at("abi").get_to(r.abi);
  json.at("provider").get_to(r.provider);
  json.at("version").get_to(r.version);
  json.at("kernels").get_to(r.kernels);
  r.tensor_cores = json.value("tensor_cores", std::vector<std::string>{});
  r.devices = json.value("devices", std::vector<std::string>{});
  r.kernel_devices = json.value("kernel_devices", std::vector<std::vector<std::string>>{});
}

void to_json(nlohmann::json& json, const RunRequest& r) {
  json["request"] = r.request;
  json["id"] = r.id;
  json["kernel"] = r.kernel;
  json["device"] = r.device;
  json["problem"] = r.problem;
  json["arena_bytes"] = r.arena_bytes;
  json["tensors"] = r.tensors;
  json["timed_repetitions"] = r.timed_repetitions;
  json["timeout_s"] = r.timeout_s;
  json["workspace_byte"] = r.workspace_byte;
}

void from_json(const nlohmann::json& json, RunRequest& r) {
  json.at("request").get_to(r.request);
  json.at("id").get_to(r.id);
  json.at("kernel").get_to(r.kernel);
  json.at("device").get_to(r.device);
  json.at("problem").get_to(r.problem);
  json.at("arena_bytes").get_to(r.arena_bytes);
  json.at("tensors").get_to(r.tensors);
  json.at("timed_repetitions").get_to(r.timed_repetitions);
  json.at("timeout_s").get_to(r.timeout_s);
  r.workspace_byte = json.value("workspace_byte", 0xFF);
}

void to_json(nlohmann::json& json, const RunReply& r) {
  json["reply"] = r.reply;
  json["id"] = r.id;
  json["status"] = r.status;
  json["reason"] = r.reason;
  json["description"] = r.description ? nlohmann::json(*r.description) : nlohmann::json();
  json["workspace_bytes"] = r.workspace_bytes;
  json["workspace_fault"] = r.workspace_fault;
  json["kernel_ns"] = r.kernel_ns;
  json["sentinel_ns"] = r.sentinel_ns;
  json["hot_ns"] = r.hot_ns;
  json["device"] = {{"model", r.device.model},
                    {"memory_bytes", r.device.memory_bytes},
                    {"driver", r.device.driver},
                    {"runtime", r.device.runtime},
                    {"arch", r.device.arch}};
  json["lse_returned"] = r.lse_returned;
  json["peak_memory_bytes"] = r.peak_memory_bytes;
}

void from_json(const nlohmann::json& json, RunReply& r) {
  json.at("reply").get_to(r.reply);
  json.at("id").get_to(r.id);
  json.at("status").get_to(r.status);
  json.at("reason").get_to(r.reason);
  read_description(json.at("description"), r);
  json.at("workspace_bytes").get_to(r.workspace_bytes);
  json.at("workspace_fault").get_to(r.workspace_fault);
  json.at("kernel_ns").get_to(r.kernel_ns);
  json.at("sentinel_ns").get_to(r.sentinel_ns);
  r.hot_ns = json.value("hot_ns", std::vector<double>{});
  if (const auto device = json.find("device"); device != json.end()) {
    r.device.model = device->value("model", "");
    r.device.memory_bytes = device->value("memory_bytes", std::int64_t{0});
    r.device.driver = device->value("driver", "");
    r.device.runtime = device->value("runtime", "");
    r.device.arch = device->value("arch", "");
  }
  r.lse_returned = json.value("lse_returned", true);
  r.peak_memory_bytes = json.value("peak_memory_bytes", std::int64_t{-1});
}

}  // namespace plumbline::protocol
