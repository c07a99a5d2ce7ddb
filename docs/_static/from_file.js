// A page that was opened from a disk may not read other pages: search shows titles alone there.
if (location.protocol === "file:") {
  window.addEventListener("DOMContentLoaded", () => {
    if (window.DOCUMENTATION_OPTIONS) DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  });
}
