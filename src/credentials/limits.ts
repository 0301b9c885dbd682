/** Limits of the credentials of a client, each with the behavior when it is reached. */
export const credentialLimits = Object.freeze({
  /** Bytes that a credential plugin prints. More: the plugin is ended, and the command fails. */
  outputBytesMax: 1024 * 1024,
  /**
   * Ms of one run of a credential plugin, in which a user may have to log in. Longer: it is ended,
   * and the command fails.
   */
  pluginMsMax: 10 * 60_000,
  /**
   * Ms after a failed run, and after a run because of a 401, in which the plugin does not run again
   * for the same reason. Earlier: the request fails as before.
   */
  pluginAgainMsMin: 10_000,
  /** Ms for which the content of a file is used before the file is read again. */
  fileAgeMsMax: 60_000,
  /** Characters of a token. Longer: it is refused. */
  tokenCharactersMax: 64 * 1024,
  /**
   * Users of client configurations whose credentials are kept. When full: the oldest is dropped.
   */
  sourcesMax: 64,
})
