// Icons, drawn on a grid of 20.
import type { ComponentChildren } from "preact";

function Icon({ children }: { children: ComponentChildren }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      stroke-width="1.6"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  );
}

export const Logo = () => (
  <svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="8" fill="var(--accent-solid)" />
    <path d="M6 16h7c5 0 4-8 10-8h3M13 16h13M13 16c5 0 4 8 10 8h3" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" />
  </svg>
);

export const OverviewIcon = () => (
  <Icon>
    <rect x="3" y="3" width="6" height="8" rx="1.5" />
    <rect x="11" y="3" width="6" height="4.5" rx="1.5" />
    <rect x="11" y="10" width="6" height="7" rx="1.5" />
    <rect x="3" y="13.5" width="6" height="3.5" rx="1.5" />
  </Icon>
);
export const VIPIcon = () => (
  <Icon>
    <circle cx="4" cy="10" r="1.8" />
    <circle cx="16" cy="4" r="1.8" />
    <circle cx="16" cy="10" r="1.8" />
    <circle cx="16" cy="16" r="1.8" />
    <path d="M6 10h8M6 9c4-1 4-5 8-5M6 11c4 1 4 5 8 5" />
  </Icon>
);
export const BalanceIcon = () => (
  <Icon>
    <path d="M10 3v14M6 17h8M3.5 6h13M3.5 6l-2 5h4zM16.5 6l-2 5h4z" />
  </Icon>
);
export const SwitchIcon = () => (
  <Icon>
    <rect x="2.5" y="5" width="15" height="10" rx="2" />
    <path d="M6 12v-2M9 12v-2M12 12v-2M15 12v-2M5.5 7.5h3" />
  </Icon>
);
export const TopologyIcon = () => (
  <Icon>
    <circle cx="10" cy="4" r="2" />
    <circle cx="4" cy="15" r="2" />
    <circle cx="16" cy="15" r="2" />
    <path d="M9 6l-4 7M11 6l4 7M6 15h8" />
  </Icon>
);
export const EventsIcon = () => (
  <Icon>
    <path d="M4 5h12M4 10h12M4 15h7" />
  </Icon>
);
export const PlusIcon = () => (
  <Icon>
    <path d="M10 4v12M4 10h12" />
  </Icon>
);
export const CloseIcon = () => (
  <Icon>
    <path d="M5 5l10 10M15 5L5 15" />
  </Icon>
);
export const RefreshIcon = () => (
  <Icon>
    <path d="M16 10a6 6 0 1 1-1.8-4.3M16 3v3.5h-3.5" />
  </Icon>
);
export const SunIcon = () => (
  <Icon>
    <circle cx="10" cy="10" r="3.2" />
    <path d="M10 2.5v2M10 15.5v2M2.5 10h2M15.5 10h2M4.7 4.7l1.4 1.4M13.9 13.9l1.4 1.4M15.3 4.7l-1.4 1.4M6.1 13.9l-1.4 1.4" />
  </Icon>
);
export const MoonIcon = () => (
  <Icon>
    <path d="M16.5 12A7 7 0 0 1 8 3.5a7 7 0 1 0 8.5 8.5z" />
  </Icon>
);
export const AutoIcon = () => (
  <Icon>
    <circle cx="10" cy="10" r="7" />
    <path d="M10 3a7 7 0 0 1 0 14z" fill="currentColor" stroke="none" />
  </Icon>
);
export const ArrowIcon = () => (
  <Icon>
    <path d="M8 5l5 5-5 5" />
  </Icon>
);
