#include "tuner/core/value.h"
