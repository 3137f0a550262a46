#pragma once

/// Where a kernel's data lie, or by which path they are read. `readonly` is the texture path.
enum Place { registers, shared, l1, readonly, l2, global, constant };
