// The JSON form of messages.h: one object per line. Macros define this form for messages that need
// no more than a list of fields; protocol.cc converts the others.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "harness/base/json.h"
#include "harness/provider/messages.h"

// ABI structs keep their field names; struct_size is not sent but set on arrival.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(plumbline_problem, dtype_q, dtype_kv, dtype_out, layout, mask,
                                   padding, lse_wanted, batch, heads_q, heads_kv, seq_q, seq_kv,
                                   head_dim_qk, head_dim_vo, total_q, total_kv, page_size,
                                   page_count, window_left, window_right, scale, softcap, has_alibi,
                                   has_sink, scale_tokens, question, merge_lse_base)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(plumbline_accumulator, dtype, toward_zero, fraction_bits,
                                   products_per_step)
void to_json(nlohmann::json& json, const plumbline_rounding_spec& spec);
void from_json(const nlohmann::json& json, plumbline_rounding_spec& spec);
// A field that is absent is 0.
void to_json(nlohmann::json& json, const plumbline_more_roundings& more);
void from_json(const nlohmann::json& json, plumbline_more_roundings& more);
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(plumbline_promises, run_to_run, batch, layout, page, split,
                                   prefill_decode, lse)
// Text that is too long is truncated. device_arch and more_roundings may be absent.
void to_json(nlohmann::json& json, const plumbline_description& description);
void from_json(const nlohmann::json& json, plumbline_description& description);

namespace plumbline::protocol {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HelloRequest, request, id, protocol, abi, provider, options,
                                   memory_limit_bytes, timeout_s)
void to_json(nlohmann::json& json, const HelloReply& reply);
void from_json(const nlohmann::json& json, HelloReply& reply);
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Device, name, memory_space, ordinal, arch)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Tensor, name, dtype, extent, stride, offset, bytes, page_begin,
                                   page_end, access)
void to_json(nlohmann::json& json, const RunRequest& request);
void from_json(const nlohmann::json& json, RunRequest& request);
void to_json(nlohmann::json& json, const RunReply& reply);
void from_json(const nlohmann::json& json, RunReply& reply);
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CrashReply, reply, id, signal, phase, where)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AgainRequest, request, id, only_end, timed_repetitions,
                                   timeout_s, quiet_ns, keep_plan, threads_reversed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(QuitRequest, request)

// Returns one line with its '\n'. Invalid UTF-8 (a kernel's reason may contain anything) becomes
// U+FFFD.
template <class Message>
std::string to_line(const Message& message) {
  return write_json(message) + '\n';
}

// Throws nlohmann::json::type_error if `json` has a fraction or exponent for an integer of `form`,
// because C++ does not define the conversion of a float that is too large. The first element of a
// list in `form` describes all elements.
void refuse_fractions(const nlohmann::json& json, const nlohmann::json& form);

template <class Message>
nlohmann::json form_of() {
  return Message{};
}
template <>
inline nlohmann::json form_of<RunRequest>() {
  RunRequest request;
  request.tensors = {{"", 0, {0}, {0}, 0, 0, 0, 0, ""}};
  return request;
}

// Throws nlohmann::json::exception if the JSON is not such a message.
template <class Message>
Message read_message(const nlohmann::json& json) {
  static const nlohmann::json form = form_of<Message>();
  refuse_fractions(json, form);
  return json.get<Message>();
}

}  // namespace plumbline::protocol
