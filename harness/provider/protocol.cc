// Converts messages to and from JSON if the macros of protocol.h cannot, and rejects fractions in
// integer fields.
#include "harness/provider/protocol.h"

#include <algorithm>

#include "harness/provider/abi_spec_fields.h"

namespace {

constexpr bool may_be_absent = true;  // the default is in the field's declaration

struct ToJson {
  nlohmann::json& json;
  template <class T>
  void operator()(const char* name, const T& value, bool absent_is_fine = false) const {
    if constexpr (requires { value.empty(); }) {
      if (absent_is_fine && value.empty()) return;
    }
    json[name] = value;
  }
};

struct FromJson {
  const nlohmann::json& json;
  template <class T>
  void operator()(const char* name, T& value, bool absent_is_fine = false) const {
    if (!absent_is_fine || json.contains(name)) json.at(name).get_to(value);
  }
  template <std::size_t n>
  void operator()(const char* name, char (&field)[n], bool absent_is_fine = false) const {
    std::string text;
    (*this)(name, text, absent_is_fine);
    text.resize(std::min(text.size(), n - 1));
    *std::copy(text.begin(), text.end(), field) = '\0';
  }
};

template <class Description, class Visit>
void visit_description(Description& d, Visit visit) {
  visit("launched", d.launched);
  visit("build_id", d.build_id);
  visit("tensor_cores", d.tensor_cores);
  visit("padding_policy", d.padding_policy);
  visit("spec", d.spec);
  visit("promises", d.promises);
  visit("registers_per_thread", d.registers_per_thread);
  visit("spill_bytes_per_thread", d.spill_bytes_per_thread);
  visit("shared_memory_bytes", d.shared_memory_bytes);
  visit("stack_bytes_per_thread", d.stack_bytes_per_thread);
  visit("device_arch", d.device_arch, may_be_absent);
  visit("more_roundings", d.more_roundings, may_be_absent);
}

template <class Reply, class Visit>
void visit_hello(Reply& r, Visit visit) {
  visit("reply", r.reply);
  visit("id", r.id);
  visit("error", r.error);
  visit("remedy", r.remedy);
  visit("protocol", r.protocol);
  visit("abi", r.abi);
  visit("provider", r.provider);
  visit("version", r.version);
  visit("kernels", r.kernels);
  visit("tensor_cores", r.tensor_cores, may_be_absent);
  visit("questions", r.questions, may_be_absent);
  visit("outputs", r.outputs, may_be_absent);
  visit("devices", r.devices, may_be_absent);
  visit("no_device", r.no_device, may_be_absent);
  visit("kernel_devices", r.kernel_devices, may_be_absent);
  visit("options_refused", r.options_refused, may_be_absent);
}

template <class Request, class Visit>
void visit_request(Request& r, Visit visit) {
  visit("request", r.request);
  visit("id", r.id);
  visit("kernel", r.kernel);
  visit("device", r.device);
  visit("problem", r.problem);
  visit("arena_bytes", r.arena_bytes);
  visit("tensors", r.tensors);
  visit("timed_repetitions", r.timed_repetitions);
  visit("timeout_s", r.timeout_s);
  visit("workspace_byte", r.workspace_byte, may_be_absent);
  visit("quiet_ns", r.quiet_ns, may_be_absent);
  visit("keep_plan", r.keep_plan, may_be_absent);
  visit("threads_reversed", r.threads_reversed, may_be_absent);
}

// Visits all fields but the description, which may be null.
template <class Reply, class Visit>
void visit_reply(Reply& r, Visit visit) {
  visit("reply", r.reply);
  visit("id", r.id);
  visit("status", r.status);
  visit("reason", r.reason);
  visit("workspace_bytes", r.workspace_bytes);
  visit("workspace_fault", r.workspace_fault);
  visit("kernel_ns", r.kernel_ns);
  visit("sentinel_ns", r.sentinel_ns);
  visit("hot_ns", r.hot_ns, may_be_absent);
  visit("kernel_cpu_ns", r.kernel_cpu_ns, may_be_absent);
  visit("sentinel_cpu_ns", r.sentinel_cpu_ns, may_be_absent);
  visit("kernel_mhz", r.kernel_mhz, may_be_absent);
  visit("hot_mhz", r.hot_mhz, may_be_absent);
  visit("kernel_throttle", r.kernel_throttle, may_be_absent);
  visit("hot_throttle", r.hot_throttle, may_be_absent);
  visit("plan_ns", r.plan_ns, may_be_absent);
  visit("mhz", r.mhz, may_be_absent);
  visit("throttled", r.throttled, may_be_absent);
  visit("device", r.device, may_be_absent);
  visit("lse_returned", r.lse_returned, may_be_absent);
  visit("peak_memory_bytes", r.peak_memory_bytes, may_be_absent);
  visit("plan_kept", r.plan_kept, may_be_absent);
}

}  // namespace

namespace plumbline {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(DeviceFacts, model, memory_bytes, driver, runtime,
                                                arch)
}

void to_json(nlohmann::json& json, const plumbline_rounding_spec& spec) {
  plumbline::for_each_abi_spec_field<plumbline_rounding_spec>(
      [&](const char* name, auto, auto of) { json[name] = of(spec); });
}

void from_json(const nlohmann::json& json, plumbline_rounding_spec& spec) {
  plumbline::for_each_abi_spec_field<plumbline_rounding_spec>(
      [&](const char* name, auto, auto of) { json.at(name).get_to(of(spec)); });
}

void to_json(nlohmann::json& json, const plumbline_more_roundings& more) {
  plumbline::for_each_abi_spec_field<plumbline_more_roundings>(
      [&](const char* name, auto, auto of) { json[name] = of(more); });
}

void from_json(const nlohmann::json& json, plumbline_more_roundings& more) {
  plumbline::for_each_abi_spec_field<plumbline_more_roundings>(
      [&](const char* name, auto, auto of) {
        if (json.contains(name)) json.at(name).get_to(of(more));
      });
}

void to_json(nlohmann::json& json, const plumbline_description& d) {
  visit_description(d, ToJson{json});
}

void from_json(const nlohmann::json& json, plumbline_description& d) {
  d = {};
  visit_description(d, FromJson{json});
  d.struct_size = sizeof d;
  d.spec.struct_size = sizeof d.spec;
  d.more_roundings.struct_size = sizeof d.more_roundings;
  d.promises.struct_size = sizeof d.promises;
}

namespace plumbline::protocol {

namespace {

// An invalid description fails the case, not the worker that sent it.
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
    throw nlohmann::json::type_error::create(
        302, "a whole number is expected, not " + write_json(json), &json);
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

void to_json(nlohmann::json& json, const HelloReply& r) { visit_hello(r, ToJson{json}); }
void from_json(const nlohmann::json& json, HelloReply& r) { visit_hello(r, FromJson{json}); }

void to_json(nlohmann::json& json, const RunRequest& r) { visit_request(r, ToJson{json}); }
void from_json(const nlohmann::json& json, RunRequest& r) { visit_request(r, FromJson{json}); }

void to_json(nlohmann::json& json, const RunReply& r) {
  visit_reply(r, ToJson{json});
  json["description"] = r.description ? nlohmann::json(*r.description) : nlohmann::json();
}
void from_json(const nlohmann::json& json, RunReply& r) {
  visit_reply(r, FromJson{json});
  read_description(json.at("description"), r);
}

}  // namespace plumbline::protocol
