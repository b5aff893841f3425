// A page that was opened from disk may not read the index of the search.
if (location.protocol === "file:") document.querySelector("[role=search]")?.remove();
