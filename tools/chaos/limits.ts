/** Every bound of chaos. What happens beyond it stands beside it. */
export const chaosLimits = Object.freeze({
  /** Ms of a plan. Into shorter ones no fault fits; longer ones are refused: run several, with other seeds. */
  durationMsMin: 4000,
  durationMsMax: 24 * 3_600_000,
  /** Faults of one plan; it ends there. */
  faultsMax: 10_000,
  /** Ms that members may take to be ready before the first fault, on a machine with much to do. Then the run is refused. */
  beginMsMax: 20_000,
  /** Ms that a member may take to be ready after a fault. Then the run ends and says so. */
  readyMsMax: 60_000,
  /** Ms to look for a leader to harm. Then another member is taken. */
  leaderMsMax: 5_000,
  /** Ms that a member may take to end when it is asked to. Then the run ends and says so. */
  stopMsMax: 30_000,
  /** Ms that what is written for a member's hook outlives the planned end of a fault, should we be killed meanwhile. */
  graceMs: 15_000,
  /** Bytes held back by one direction of one proxied connection; beyond it the sender is no longer read. */
  heldBytesMax: 1024 * 1024,
  /** Connections through the proxies at a time. More are closed at once. */
  connectionsMax: 512,
  /** Ms that a proxy tries to find out which member is calling. Then it hangs up; members dial again. */
  callerMsMax: 500,
  /** Bytes of one line to or from the proxies' control socket. A longer one ends that connection. */
  controlLineBytesMax: 256 * 1024,
  /** Ms that the proxies may take to do as told. */
  controlMsMax: 5_000,
})
