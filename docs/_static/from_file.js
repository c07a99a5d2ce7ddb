// A page that was opened from a disk may not read other pages: search shows titles alone there.
if (location.protocol === "file:") {
  document.addEventListener("DOMContentLoaded", () => {
    if (typeof DOCUMENTATION_OPTIONS !== "undefined")
      DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  });
}
