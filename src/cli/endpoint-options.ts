import type { Command, Option } from 'commander'

/** Adds the options that `verifyEndpoints` reads: the servers and the credentials for them. */
export function addEndpointOptions(command: Command, kubeconfig: () => Option): void {
  command
    .option('--endpoint <url>', 'URL of a server, such as https://host:6443; repeat for each member', collect)
    .addOption(kubeconfig())
    .option(
      '--context <name>',
      'context of the kubeconfig; may be repeated (default: all contexts of the current cluster)',
      collect,
    )
    .option('--ca <file>', 'with --endpoint: CA certificate (PEM) to verify the servers')
    .option('--cert <file>', 'with --endpoint: client certificate (PEM)')
    .option('--key <file>', 'with --endpoint: key of the client certificate (PEM)')
    .option('--token <token>', 'with --endpoint: bearer token')
    .option('--token-file <file>', 'with --endpoint: file with the bearer token')
    .option('--insecure-skip-tls-verify', 'do not verify the certificates of the servers')
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}
