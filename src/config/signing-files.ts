/** The flags with the certificate and the key of each signer that has its own, as upstream. */
const signerFiles = {
  'kubelet-serving': {
    certificate: 'cluster-signing-kubelet-serving-cert-file',
    key: 'cluster-signing-kubelet-serving-key-file',
  },
  'kubelet-client': {
    certificate: 'cluster-signing-kubelet-client-cert-file',
    key: 'cluster-signing-kubelet-client-key-file',
  },
  'kube-apiserver-client': {
    certificate: 'cluster-signing-kube-apiserver-client-cert-file',
    key: 'cluster-signing-kube-apiserver-client-key-file',
  },
  'legacy-unknown': {
    certificate: 'cluster-signing-legacy-unknown-cert-file',
    key: 'cluster-signing-legacy-unknown-key-file',
  },
} as const

/** The flags of the files for all signers. */
export const commonSigningFiles = {
  certificate: 'cluster-signing-cert-file',
  key: 'cluster-signing-key-file',
} as const

/** The flags with the certificates of single signers. */
export const signerCertificateFlags = Object.values(signerFiles).map(({ certificate }) => certificate)

export type FlagSigner = keyof typeof signerFiles
export type SigningFiles = (typeof signerFiles)[FlagSigner] | typeof commonSigningFiles

export function signingFilesOf(signer: FlagSigner): SigningFiles {
  return signerFiles[signer]
}

type SigningPaths = { readonly [flag in SigningFiles['certificate'] | SigningFiles['key']]: string }

/** Returns whether a flag of a single signer is set. */
export function hasSignerFiles(config: SigningPaths): boolean {
  return Object.values(signerFiles).some(
    (files) => config[files.certificate] !== '' || config[files.key] !== '',
  )
}

/** @param wrong throws the error */
export function checkSigning(config: SigningPaths, wrong: (message: string) => never): void {
  for (const { certificate, key } of [commonSigningFiles, ...Object.values(signerFiles)]) {
    const [given, missing] = config[certificate] === '' ? [key, certificate] : [certificate, key]
    if (config[given] !== '' && config[missing] === '') wrong(`--${given} needs --${missing}`)
  }
  if (config['cluster-signing-cert-file'] !== '' && hasSignerFiles(config)) {
    wrong(
      'give either --cluster-signing-cert-file and --cluster-signing-key-file for all signers, or the flags of single signers',
    )
  }
}
