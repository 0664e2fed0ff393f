"""The frozen vocabulary of homellm. Pure: no I/O, no clock, nothing imported from other rooms but errors."""
