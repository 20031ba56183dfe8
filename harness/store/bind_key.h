// Binds a key to a statement's parameter as the blob that tables store.
#pragma once

#include <SQLiteCpp/Statement.h>

#include "harness/store/keys.h"

namespace plumbline {

// `Bytes`: a Key, or a string that holds a key's bytes.
template <class Bytes>
void bind_key(SQLite::Statement& statement, int index, const Bytes& key) {
  statement.bind(index, static_cast<const void*>(key.data()), static_cast<int>(key.size()));
}

}  // namespace plumbline
