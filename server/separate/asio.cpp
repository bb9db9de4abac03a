// The one file that compiles Boost.Asio; the others declare it (BOOST_ASIO_SEPARATE_COMPILATION).
#include <boost/asio/impl/src.hpp>
