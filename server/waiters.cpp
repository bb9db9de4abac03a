#include "server/waiters.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace litefeed::server {

void waiters::sweep() {
    for (auto* w : all_) {
        char byte;
        const auto n = ::recv(w->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        // A FIN alone may come from a client that only stopped sending: it is answered.
        if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
            w->gone = true;
            w->bell.ring();
        }
    }
}

}  // namespace litefeed::server
