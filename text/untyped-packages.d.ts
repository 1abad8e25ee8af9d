declare module "wink-porter2-stemmer" {
  export default function stem(word: string): string;
}

declare module "stopword" {
  export const eng: string[];
}
