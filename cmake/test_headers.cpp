// The source of a target that only has precompiled headers.
