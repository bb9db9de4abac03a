#include "core/snapshot.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace litefeed {
namespace {

[[noreturn]] void damaged() { throw boost::system::system_error(make_error_code(errc::damaged)); }

}  // namespace

feed_view::feed_view(const std::string& path, connection db, feed_options options)
    : db_(std::move(db)),
      file_(path, db_),
      foreign_(is_foreign(db_)),
      options_(std::move(options)) {
    schema_version_row_ = db_.prepare("PRAGMA main.schema_version");
}

void feed_view::refuse_unreadable() {
    file_.refuse_moved();
    if (foreign_) refuse_side_files(db_);
}

// Everything that hangs on the schema: statements, definitions, whether there are tables of ours at all.
void feed_view::load() {
    catalog_ = {};
    ++catalog_number_;
    log_.reset();
    state_row_ = {};
    listed_row_ = {};
    meta_ = {};
    head_ = {};
    here_ = {};
    const installation found = installation_of(db_);
    if (found == installation::broken) damaged();
    if (found == installation::none) return;
    log_ = std::make_unique<log_reader>(db_);
    state_row_ = prepare_own(
        db_,
        "SELECT floor, floor_digest, catalog_version, (SELECT max(seq) FROM main.litefeed_log), "
        "lineage, installed_at_ms, format, schema_version, (SELECT min(seq) FROM "
        "main.litefeed_log WHERE seq > floor), folded, retention_s, seen_through "
        "FROM main.litefeed_meta WHERE id = 0");
    listed_row_ =
        prepare_own(db_, "SELECT count(*), total(watched != 0) FROM main.litefeed_tables");
}

void feed_view::read_state() {
    use row(state_row_);
    if (!row->step()) damaged();
    meta_.floor = {row->integer(0)};
    meta_.floor_digest = static_cast<std::uint32_t>(row->integer(1));
    meta_.catalog_version = row->integer(2);
    head_ = {std::max(row->integer(3), meta_.floor.n)};
    if (row->text(4) != meta_.lineage) meta_.lineage = row->text(4);
    meta_.installed_ms = row->integer(5);
    meta_.format = row->integer(6);
    recorded_version_ = row->integer(7);
    lowest_ = {row->integer(8)};
    meta_.folded = row->integer(9);
    meta_.retention_s = row->integer(10);
    meta_.seen_through = believed(row->integer(11));
    if (!is_sound(meta_, head_)) damaged();
}

void feed_view::judge_log() {
    newest_generation_ = {};
    lost_ = false;
    for (const auto& t : catalog_.tables()) {
        const stamp begun = t->row.generation_at;
        newest_generation_ = std::max(newest_generation_, begun);
        lost_ = lost_ || !log_->holds_generation(t->row.table_id, begun, meta_.floor);
    }
    lost_ = lost_ || is_lost();
    if (lost_) damaged();
}

bool feed_view::lists_other_tables() {
    use row(listed_row_);
    if (!row->step()) return true;
    const auto& known = catalog_.tables();
    const auto watched =
        std::count_if(known.begin(), known.end(), [](const auto& t) { return t->row.watched; });
    return row->integer(0) != static_cast<std::int64_t>(known.size()) || row->integer(1) != watched;
}

std::optional<rest_cursor> feed_view::find_gone() {
    here_ = log_->cursor_at(head_, meta_);
    if (newest_ && newest_->lineage == here_.lineage && newest_->at > meta_.floor) {
        const rest_cursor now = newest_->at == head_ ? here_ : log_->cursor_at(newest_->at, meta_);
        if (now != *newest_) return newest_;
    }
    newest_ = here_;
    return std::nullopt;
}

feed_view::snapshot::snapshot(feed_view& of, depth how)
    : view_(of), transaction_(of.db_, transaction::kind::deferred) {
    std::int64_t version = 0;
    {
        use row(view_.schema_version_row_);
        row->step();
        version = row->integer(0);
    }
    const bool moved = version != view_.schema_version_;
    if (moved) {
        view_.schema_version_ = -1;  // until everything below has held
        view_.load();
    }
    if (view_.log_ != nullptr) {
        view_.read_state();
        if (view_.meta_.format > format_number)
            throw boost::system::system_error(make_error_code(errc::newer_format));
        if (moved || view_.meta_.catalog_version != view_.loaded_catalog_version_ ||
            view_.is_lost() != view_.lost_ ||
            (how == depth::thorough && view_.lists_other_tables())) {
            view_.loaded_catalog_version_ = -1;
            view_.catalog_ =
                catalog::load(view_.db_, view_.options_, read_schema(view_.db_), view_.sight_);
            view_.judge_log();
            view_.loaded_catalog_version_ = view_.meta_.catalog_version;
            ++view_.catalog_number_;
        }
        gone_ = view_.find_gone();
        if (!gone_ && !view_.catalog_.any_drift()) view_.verified_through_ = view_.here_;
    }
    view_.schema_version_ = version;
}

rest_cursor feed_view::snapshot::cursor_at(stamp at) const {
    if (!installed()) return {};
    return log().cursor_at(at, state());
}

std::string feed_view::snapshot::version() const {
    if (!installed()) return "0";
    std::array<char, 128> text{};
    const meta& m = state();
    const rest_cursor& here = view_.here_;
    const auto hex = [](std::int64_t n) { return static_cast<unsigned long long>(n); };
    const int size = std::snprintf(text.data(), text.size(), "%08x.%llx.%08x.%llx.%llx.%llx.%llx",
                                   here.lineage, hex(here.at.n), here.digest, hex(schema_version()),
                                   hex(m.catalog_version), hex(m.floor.n), hex(m.folded));
    return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace litefeed
