#include "core/snapshot.hpp"

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
    log_.reset();
    state_row_ = {};
    meta_ = {};
    head_ = {};
    const installation found = installation_of(db_);
    if (found == installation::broken) {
        if (options_.read_only) damaged();
        throw boost::system::system_error(make_error_code(errc::drifted));
    }
    if (found == installation::none) return;
    log_ = std::make_unique<log_reader>(db_);
    state_row_ = prepare_own(
        db_,
        "SELECT floor, floor_digest, catalog_version, (SELECT max(seq) FROM main.litefeed_log), "
        "lineage, installed_at_ms, format, schema_version, (SELECT min(seq) FROM "
        "main.litefeed_log WHERE seq > floor), folded "
        "FROM main.litefeed_meta WHERE id = 0");
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
    if (head_ > stamp_max || meta_.floor.n < 0 || !is_lineage(meta_.lineage)) damaged();
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
    if (!lost_) return;
    if (!options_.read_only) throw boost::system::system_error(make_error_code(errc::drifted));
    for (const auto& t : catalog_.tables())
        if (t->row.watched && t->present()) t->drifted = reset_reason::feed_restored;
}

feed_view::snapshot::snapshot(feed_view& of)
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
            view_.is_lost() != view_.lost_) {
            view_.loaded_catalog_version_ = -1;
            view_.catalog_ =
                catalog::load(view_.db_, view_.options_, read_schema(view_.db_), view_.sight_);
            view_.judge_log();
            view_.loaded_catalog_version_ = view_.meta_.catalog_version;
            reloaded_ = true;
        }
        if (!view_.catalog_.any_drift()) view_.verified_through_ = view_.head_;
    }
    view_.schema_version_ = version;
}

rest_cursor feed_view::snapshot::cursor_at(stamp at) const {
    if (!installed()) return {};
    return log().cursor_at(at, state());
}

}  // namespace litefeed
