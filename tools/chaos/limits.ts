/** Limits of chaos, each with the behavior when it is reached. */
export const chaosLimits = Object.freeze({
  /**
   * Duration of a plan in ms. Less is rejected, because hardly any fault fits into it. More is
   * rejected: use several runs with other seeds.
   */
  durationMsMin: 4000,
  durationMsMax: 24 * 3_600_000,
  /** Faults of one plan. The plan ends there. */
  faultsMax: 10_000,
  /** Ms until all members are ready before the first fault. Longer: the run is rejected. */
  beginMsMax: 20_000,
  /** Ms until a member is ready after a fault. Longer: the run fails. */
  readyMsMax: 60_000,
  /** Ms to find a leader as the target. Longer: another member is used. */
  leaderMsMax: 5_000,
  /** Ms until a member ends after SIGTERM. Longer: the run fails. */
  stopMsMax: 30_000,
  /** Ms that faults of the hook outlast their planned end if this program is killed. */
  graceMs: 15_000,
  /** Bytes buffered in one direction of a proxied connection. More: the proxy stops reading. */
  heldBytesMax: 1024 * 1024,
  /** Proxied connections to one member. More: closed at once. */
  connectionsMax: 512,
  /**
   * Ms to identify the calling member. Longer: the proxy closes the connection; members reconnect.
   */
  callerMsMax: 500,
  /** Bytes of one line on the control socket of the proxies. Longer: the connection is closed. */
  controlLineBytesMax: 256 * 1024,
  /** Ms until the proxies confirm new rules. Longer: the run fails. */
  controlMsMax: 5_000,
})
