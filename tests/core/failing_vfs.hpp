#pragma once

#include <sqlite3.h>

#include <cstring>
#include <new>

namespace litefeed::test {

/// SQLite's default VFS, whose writes, syncs and truncations can be made to fail: the disk of a bad day. The default for
/// connections that are opened while it stands. One at a time, one thread.
class failing_vfs {
  public:
    failing_vfs() {
        below() = sqlite3_vfs_find(nullptr);
        vfs_ = *below();
        vfs_.zName = "failing";
        vfs_.szOsFile = static_cast<int>(sizeof(file)) + below()->szOsFile;
        vfs_.xOpen = open;
        sqlite3_vfs_register(&vfs_, 1);
        countdown() = 0;
    }
    ~failing_vfs() {
        sqlite3_vfs_unregister(&vfs_);
        sqlite3_vfs_register(below(), 1);
    }
    failing_vfs(const failing_vfs&) = delete;
    failing_vfs& operator=(const failing_vfs&) = delete;

    /// The `nth` operation from now on fails with `code`, and all after it, until `mend`.
    static void fail_from(int nth, int code) {
        countdown() = nth;
        error() = code;
        fired() = false;
    }
    /// Whether any operation failed since `fail_from`.
    static bool mend() {
        countdown() = 0;
        return fired();
    }

  private:
    struct file {
        sqlite3_file base;
        sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
    };
    static sqlite3_vfs*& below() {
        static sqlite3_vfs* v = nullptr;
        return v;
    }
    static int& countdown() {
        static int n = 0;
        return n;
    }
    static int& error() {
        static int code = 0;
        return code;
    }
    static bool& fired() {
        static bool yes = false;
        return yes;
    }
    static bool fails() {
        if (countdown() == 0) return false;
        if (countdown() > 1) {
            --countdown();
            return false;
        }
        return fired() = true;
    }
    static sqlite3_file* real(sqlite3_file* f) { return reinterpret_cast<file*>(f)->real(); }

    static int open(sqlite3_vfs* /*vfs*/, const char* name, sqlite3_file* to, int flags, int* out) {
        auto* f = new (to) file{};
        const int code = below()->xOpen(below(), name, f->real(), flags, out);
        if (code == SQLITE_OK) f->base.pMethods = methods();
        return code;
    }

    static const sqlite3_io_methods* methods() {
        static const sqlite3_io_methods all = [] {
            sqlite3_io_methods m{};
            m.iVersion = 2;
            m.xClose = [](sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); };
            m.xRead = [](sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
                return real(f)->pMethods->xRead(real(f), to, n, at);
            };
            m.xWrite = [](sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
                return fails() ? error() : real(f)->pMethods->xWrite(real(f), from, n, at);
            };
            m.xTruncate = [](sqlite3_file* f, sqlite3_int64 n) {
                return fails() ? error() : real(f)->pMethods->xTruncate(real(f), n);
            };
            m.xSync = [](sqlite3_file* f, int how) {
                return fails() ? error() : real(f)->pMethods->xSync(real(f), how);
            };
            m.xFileSize = [](sqlite3_file* f, sqlite3_int64* n) {
                return real(f)->pMethods->xFileSize(real(f), n);
            };
            m.xLock = [](sqlite3_file* f, int how) {
                return real(f)->pMethods->xLock(real(f), how);
            };
            m.xUnlock = [](sqlite3_file* f, int how) {
                return real(f)->pMethods->xUnlock(real(f), how);
            };
            m.xCheckReservedLock = [](sqlite3_file* f, int* out) {
                return real(f)->pMethods->xCheckReservedLock(real(f), out);
            };
            m.xFileControl = [](sqlite3_file* f, int what, void* with) {
                return real(f)->pMethods->xFileControl(real(f), what, with);
            };
            m.xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); };
            m.xDeviceCharacteristics = [](sqlite3_file* f) {
                return real(f)->pMethods->xDeviceCharacteristics(real(f));
            };
            m.xShmMap = [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
                return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
            };
            m.xShmLock = [](sqlite3_file* f, int at, int n, int how) {
                return real(f)->pMethods->xShmLock(real(f), at, n, how);
            };
            m.xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); };
            m.xShmUnmap = [](sqlite3_file* f, int remove) {
                return real(f)->pMethods->xShmUnmap(real(f), remove);
            };
            return m;
        }();
        return &all;
    }

    sqlite3_vfs vfs_{};
};

}  // namespace litefeed::test
