import { duration, text } from './flag.ts'
import type { FlagSigner } from './signing-files.ts'

const hourMs = 3_600_000

function certificateOf(signers: string) {
  return text(
    '',
    'FILE',
    `CA certificate (PEM) that signs the requests of ${signers}. Read again when it changes. The leader signs, so use the same files on all members.`,
  )
}

function keyOf(signer: FlagSigner) {
  return text('', 'FILE', `Private key (PEM) of --cluster-signing-${signer}-cert-file.`)
}

const kubeletServing = 'the signer of serving certificates of nodes (nodeagent-serving, kubelet-serving)'
const kubeletClient =
  'the signer of client certificates of nodes (apiserver-client-nodeagent, kube-apiserver-client-kubelet)'
const apiserverClient = 'the signer of other client certificates (apiserver-client, kube-apiserver-client)'

/** Flags of the signers of certificate signing requests, under upstream's names. */
export const signingFlags = {
  'cluster-signing-cert-file': certificateOf(
    'all signers of this server: with the flags of single signers, only these sign. Unset: a CA that the members create and share encrypted, and that they accept for clients',
  ),
  'cluster-signing-key-file': text('', 'FILE', 'Private key (PEM) of --cluster-signing-cert-file.'),
  'cluster-signing-kubelet-serving-cert-file': certificateOf(kubeletServing),
  'cluster-signing-kubelet-serving-key-file': keyOf('kubelet-serving'),
  'cluster-signing-kubelet-client-cert-file': certificateOf(kubeletClient),
  'cluster-signing-kubelet-client-key-file': keyOf('kubelet-client'),
  'cluster-signing-kube-apiserver-client-cert-file': certificateOf(apiserverClient),
  'cluster-signing-kube-apiserver-client-key-file': keyOf('kube-apiserver-client'),
  'cluster-signing-legacy-unknown-cert-file': certificateOf('the signer legacy-unknown'),
  'cluster-signing-legacy-unknown-key-file': keyOf('legacy-unknown'),
  'cluster-signing-duration': duration(
    8760 * hourMs,
    { minMs: hourMs / 6, maxMs: 3 * 8760 * hourMs },
    'Longest lifetime of a signed certificate; a request may ask for a shorter one (spec.expirationSeconds).',
  ),
} as const
