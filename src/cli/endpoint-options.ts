import type { Command, Option } from 'commander'

/** How commands that ask any servers of this kind are told whom and as whom: see `verifyEndpoints`. */
export function addEndpointOptions(command: Command, kubeconfig: () => Option): void {
  command
    .option('--endpoint <url>', 'a server to ask, such as https://host:6443; repeat for each member', collect)
    .addOption(kubeconfig())
    .option(
      '--context <name>',
      'of the kubeconfig; repeat (default: all of the current one’s cluster)',
      collect,
    )
    .option('--ca <file>', 'with --endpoint: who vouches for the servers, PEM')
    .option('--cert <file>', 'with --endpoint: client certificate, PEM')
    .option('--key <file>', 'with --endpoint: its key, PEM')
    .option('--token <token>', 'with --endpoint: bearer token')
    .option('--token-file <file>', 'with --endpoint: bearer token, in a file')
    .option('--insecure-skip-tls-verify', 'do not look at the servers’ certificates')
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}
