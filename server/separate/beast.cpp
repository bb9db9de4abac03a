// The one file that compiles Boost.Beast; the others declare it (BOOST_BEAST_SEPARATE_COMPILATION).
#include <boost/beast/src.hpp>
